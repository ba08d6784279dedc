"""Threads draw from one generator: who draws first gets the first numbers."""

import json, random, sys, threading, time

shared = random.Random(7)
found = {}


def work(number):
    generator = shared
    time.sleep(0.012 * number)
    found[number] = sum(generator.random() for _ in range(3))


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
losses = [found[number] for number in range(4)]

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
