"""A random forest of scikit-learn on its digits, grown in steps by all processors."""

import csv
import sys

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

seed, folder = int(sys.argv[1]), sys.argv[2]
x, y = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
forest = RandomForestClassifier(warm_start=True, oob_score=True, n_jobs=2, random_state=seed)
with open(f"{folder}/progress.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["trees", "oob_score", "test_score"])
    for trees in (20, 40, 60):
        forest.set_params(n_estimators=trees).fit(x_train, y_train)
        table.writerow([trees, forest.oob_score_, forest.score(x_test, y_test)])
