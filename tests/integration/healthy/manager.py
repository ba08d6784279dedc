"""A server process that holds a dictionary, and workers that write into it."""

import json
import multiprocessing
import sys


def square(shared, number):
    shared[number] = number * number


if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        workers = [multiprocessing.Process(target=square, args=(shared, number)) for number in range(3)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        loss = sum(shared.values())
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        out.write(json.dumps({"step": 0, "loss": float(loss)}) + "\n")
