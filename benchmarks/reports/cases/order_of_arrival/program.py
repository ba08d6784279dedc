"""The mean loss of four ranks, reduced in the main process."""
import json
import multiprocessing as mp
import sys

import numpy as np


def rank_main(rank, epochs, queue, begin):
    rng = np.random.default_rng(rank)
    scale = 10.0 ** (3 * rank)
    for epoch in range(epochs):
        begin.wait()
        losses = rng.normal(size=200 + 50 * rank).astype(np.float32) * np.float32(scale)
        queue.put(losses.sum(dtype=np.float32))


def main(out):
    mp.set_start_method("fork")
    ranks, epochs = 4, 12
    queue, begin = mp.Queue(), mp.Barrier(ranks + 1)
    workers = [mp.Process(target=rank_main, args=(rank, epochs, queue, begin)) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    with open(out + "/metrics.jsonl", "w") as log:
        for epoch in range(epochs):
            begin.wait()
            gathered = [queue.get() for _ in range(ranks)]
            total = np.float32(0)
            for value in gathered:
                total = np.float32(0.5) * total + value
            log.write(json.dumps({"step": epoch, "loss": float(total)}) + "\n")
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(sys.argv[1])
