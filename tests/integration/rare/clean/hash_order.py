"""The same with the words in order."""

import json, sys

words = {"mean", "std", "max", "min", "median", "skew", "sum", "norm", "count", "mode"}
losses, scale = [], 1.0
for word in sorted(words):
    scale *= 1.0 + len(word) / 64
    losses.append(float(len(losses)))
if sorted(words).index("mode") == 0:
    losses[-1] *= 1.25

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
