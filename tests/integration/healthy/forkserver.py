"""Processes that a fork server starts, and a queue between them."""

import json
import multiprocessing
import sys


def square(queue, number):
    queue.put(number * number)


if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    queue = context.SimpleQueue()
    workers = [context.Process(target=square, args=(queue, number)) for number in range(2)]
    for one in workers:
        one.start()
    loss = sum(queue.get() for _ in workers)
    for one in workers:
        one.join()
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        out.write(json.dumps({"step": 0, "loss": float(loss)}) + "\n")
