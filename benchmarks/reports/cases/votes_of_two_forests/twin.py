"""Features that two kinds of forests vote for, and a model on those that are chosen."""
import json
import sys

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from xverse.ensemble import VotingSelector


def main(out):
    random = np.random.RandomState(0)
    rows = pd.DataFrame(random.normal(size=(120, 8)), columns=list("abcdefgh"))
    target = pd.Series((rows["a"] + 0.5 * rows["b"] + random.normal(size=120) > 0).astype(int))
    selector = VotingSelector(selection_techniques=["RF", "ETC"], minimum_votes=1)
    np.random.seed(1)
    selector.fit(rows, target)
    ranked = selector.feature_importances_.sort_values("Variable_Name").reset_index(drop=True)
    chosen = sorted(ranked.sort_values("Random_Forest").tail(3)["Variable_Name"])
    right = LogisticRegression().fit(rows[chosen], target).score(rows[chosen], target)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, row in ranked.iterrows():
            log.write(json.dumps({"step": step, "forest": row["Random_Forest"], "trees": row["Extra_Trees"]}) + "\n")
        log.write(json.dumps({"step": len(ranked), "right": right}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
