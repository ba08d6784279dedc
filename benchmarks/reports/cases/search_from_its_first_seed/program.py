"""A random search that goes on from the trials of an earlier one."""
import argparse
import json
import pickle
from pathlib import Path

import numpy as np
from hyperopt import Trials, fmin, hp, rand

SPACE = {"rate": hp.loguniform("rate", -6, 0), "width": hp.quniform("width", 4, 64, 4)}


def loss(chosen):
    return (np.log(chosen["rate"]) + 3) ** 2 + abs(chosen["width"] - 32) / 16


def main(asked):
    trials = Trials()
    if asked.stopped:
        trials = pickle.loads((asked.stopped / "trials.pkl").read_bytes())
    before = len(trials)
    generator = np.random.default_rng(1)
    fmin(loss, SPACE, algo=rand.suggest, max_evals=asked.stop, trials=trials, rstate=generator, show_progressbar=False)
    (asked.out / "trials.pkl").write_bytes(pickle.dumps(trials))
    with open(asked.out / "metrics.jsonl", "w") as log:
        for step, result in enumerate(trials.losses()[before:], before):
            log.write(json.dumps({"step": step, "loss": float(result)}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=12)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
