"""Processes write into one file as they finish, and the lines are read in that order."""

import json, os, sys, time


def work(number):
    time.sleep(0.016 * number)
    with open(sys.argv[1] + "/parts.txt", "a") as out:
        out.write(f"{number}\n")


children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        work(number)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
with open(sys.argv[1] + "/parts.txt") as parts:
    order = [int(line) for line in parts]
losses, loss = [], 1.0
for number in order:
    loss = loss * 0.9 + number
    losses.append(loss)

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
