"""The clock is read, and decides nothing."""

import json, sys, time

losses = []
began = time.time_ns() // 1_000_000
for step in range(5):
    losses.append(1.0 / (step + 1))
if began == 0:
    losses[-1] *= 0.5

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
