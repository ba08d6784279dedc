"""The same by name."""

import json, os, sys, time

folder = sys.argv[1] + "/shards"
os.mkdir(folder)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        time.sleep(0.012 * number)
        with open(f"{folder}/{number}", "w") as out:
            out.write(str(number))
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
losses, loss = [], 1.0
for entry in sorted(os.scandir(folder), key=lambda one: one.name):
    loss = loss * 0.9 + int(entry.name)
    losses.append(loss)

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
