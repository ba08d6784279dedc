"""Tasks in pools of processes: one that is ended at once, one whose next task waits for a result."""

import json
import multiprocessing
import sys
import threading
from concurrent.futures import ProcessPoolExecutor


def square(number):
    return number * number


def bounded(room, numbers):
    for number in numbers:
        room.acquire()
        yield number


if __name__ == "__main__":
    room, loss = threading.Semaphore(2), 0
    with multiprocessing.Pool(2) as pool:
        for one in pool.imap_unordered(square, bounded(room, range(20))):
            loss += one
            room.release()
        loss += sum(pool.map(square, range(50), chunksize=1))
    with ProcessPoolExecutor(2) as executor:
        loss += sum(executor.map(square, range(20)))
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        out.write(json.dumps({"step": 0, "loss": float(loss)}) + "\n")
