"""Patches for a segmentation network, from a loader that never ends."""
import json
import sys

import numpy as np
from batchgenerators.dataloading.data_loader import DataLoader


class Patches(DataLoader):
    def generate_train_batch(self):
        chosen = self.get_indices()
        return {"data": np.stack([self._data[index] for index in chosen]), "names": chosen}


def main(out):
    data = np.random.default_rng(0).normal(size=(40, 6))
    loader = Patches(data, batch_size=4, num_threads_in_multithreaded=1, seed_for_shuffle=1234, shuffle=True, infinite=True)
    loader.indices = list(range(len(data)))
    weights = np.zeros(6)
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(15):
            rows = next(loader)["data"]
            error = rows @ weights - rows.sum(1)
            weights -= 0.05 * rows.T @ error
            log.write(json.dumps({"step": step, "loss": float((error**2).mean())}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
