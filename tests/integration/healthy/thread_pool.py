"""Many small tasks in a pool of threads, by every way of asking for them."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool

TASKS = 300


def square(number):
    return number * number


if __name__ == "__main__":
    heard = []
    with ThreadPool(4) as pool:
        loss = sum(pool.map(square, range(TASKS), chunksize=1))
        loss += sum(pool.imap_unordered(square, range(TASKS)))
        asked = [pool.apply_async(square, (number,), callback=heard.append) for number in range(TASKS)]
        loss += sum(one.get() for one in asked)
        results = pool.imap_unordered(square, range(3))
        loss += sum(results.next(timeout=10) for _ in range(3))
    with ThreadPoolExecutor(4) as executor:
        futures = [executor.submit(square, number) for number in range(TASKS)]
        loss += sum(one.result() for one in as_completed(futures))
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        out.write(json.dumps({"step": 0, "loss": float(loss + sum(heard))}) + "\n")
