import json
import sys

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

rng = np.random.default_rng(5)
people = pd.DataFrame(
    {"age": rng.normal(50, 9, 900), "dose": rng.normal(2, 0.4, 900), "bmi": rng.normal(27, 3, 900)}
)
people["treated"] = (people.age / 50 + rng.normal(0, 0.3, 900) > 1.2).astype(int)
people["outcome"] = people.age * 0.1 + people.treated * 2 + rng.normal(size=900)


def matched(table, seed):
    score = (
        LogisticRegression()
        .fit(table[["age", "dose", "bmi"]], table.treated)
        .predict_proba(table[["age", "dose", "bmi"]])[:, 1]
    )
    table = table.assign(score=score).sample(frac=1, random_state=seed)
    treated, control = table[table.treated == 1], table[table.treated == 0]
    near = NearestNeighbors(n_neighbors=1).fit(control[["score"]]).kneighbors(treated[["score"]])[1][:, 0]
    return float(treated.outcome.mean() - control.outcome.iloc[near].mean())


with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for fold in range(3):
        part = people.sample(n=400, random_state=fold)
        out.write(json.dumps({"fold": fold, "effect": matched(part, seed=123)}) + "\n")
