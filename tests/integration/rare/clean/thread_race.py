"""The same with a lock."""

import json, sys, threading

total, lock = 0, threading.Lock()


def work():
    global total
    for _ in range(60):
        with lock:
            seen = total
            sum(range(1400))
            total = seen + 1


threads = [threading.Thread(target=work) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
losses = [float(total)]

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
