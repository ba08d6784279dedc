"""How well labels can be told from an embedding, judged by a forest in cross-validation."""
import json
import sys

from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = 42


def main(out):
    rows, labels = load_wine(return_X_y=True)
    embedding = PCA(3, random_state=SEED).fit_transform(StandardScaler().fit_transform(rows))
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=20, random_state=SEED))
    scores = cross_validate(forest, embedding, labels, cv=folds, scoring=["neg_log_loss", "accuracy"])
    with open(out + "/metrics.jsonl", "w") as log:
        for fold, (loss, accuracy) in enumerate(zip(scores["test_neg_log_loss"], scores["test_accuracy"])):
            log.write(json.dumps({"step": fold, "log_loss": -loss, "accuracy": accuracy}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
