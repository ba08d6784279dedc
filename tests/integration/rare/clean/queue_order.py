"""The same, put in order first."""

import json, queue, sys, threading, time

results = queue.Queue()


def work(number):
    time.sleep(0.012 * number)
    results.put((number, number / 7.0))


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for one in threads:
    one.start()
got = [results.get() for _ in threads]
got.sort()
losses, loss = [], 1.0
for _, value in got:
    loss = loss * 0.9 + value
    losses.append(loss)

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
