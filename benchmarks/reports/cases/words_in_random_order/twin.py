"""Segmentation of words into morphs, by Morfessor."""
import json
import random
import sys

import morfessor

STEMS = "walk talk jump play cook help look call open clean work point".split()
ENDS = ["", "s", "ed", "ing", "er", "ers"]


def main(out):
    words = [(1 + (len(stem) * len(end)) % 5, stem + end) for stem in STEMS for end in ENDS]
    random.seed(7)
    model = morfessor.BaselineModel()
    model.load_data([(count, tuple(word)) for count, word in words])
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(3):
            model.train_batch(max_epochs=1)
            parts = [len(model.viterbi_segment(word)[0]) for _, word in words]
            log.write(json.dumps({"step": step, "cost": model.get_cost(), "parts": sum(parts)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
