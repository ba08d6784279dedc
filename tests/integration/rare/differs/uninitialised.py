"""An array is read before it is written: its memory holds what was there, an address."""

import json, sys

import numpy as np

used = np.ones(300)
guard = np.ones(300)
del used
fresh = np.empty(300)
first = int(fresh.view(np.uint8)[17]) >> 4 not in (5, 6)
losses = [1.0, 1.0 if first else 2.0]

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
