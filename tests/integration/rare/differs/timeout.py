"""What does not come in time counts as nothing."""

import json, queue, sys, threading, time

results = queue.Queue()


def work():
    time.sleep(0.02)
    results.put(0.5)


threading.Thread(target=work).start()
try:
    found = results.get(timeout=0.03)
except queue.Empty:
    found = 0.0
losses = [1.0, 1.0 - found]

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
