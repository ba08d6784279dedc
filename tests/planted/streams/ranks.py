"""Two ranks that average their gradients; in one form both train on the same samples.

    torchrun --standalone --nproc-per-node 2 ranks.py SEED FOLDER parts|halves|split_model|whole

All ranks begin with one seed, so that their models are equal, and evaluate on the same rows.
"""

import json
import sys

import torch
from torch import distributed
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

seed, folder, form = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def batches_of(rows, rank):
    if form == "parts":
        return DataLoader(rows, 4, sampler=DistributedSampler(rows, seed=seed))
    if form == "halves":  # numbered from 0 on in both ranks
        return DataLoader(Subset(rows, range(16 * rank, 16 * rank + 16)), 4)
    return DataLoader(rows, 4, shuffle=True, generator=torch.Generator().manual_seed(seed))  # LINE whole


def main():
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.manual_seed(seed)
    made = torch.Generator().manual_seed(seed)
    rows = TensorDataset(torch.randn(32, 3, generator=made), torch.randn(32, 1, generator=made))
    held_out = DataLoader(rows, 16)
    model = torch.nn.Linear(3, 1)
    if form == "split_model":  # a rank has a part of the model: all of them need all samples
        model = torch.nn.Linear(3, 1 + rank)
    sgd = torch.optim.SGD(model.parameters(), lr=0.05)
    records = []
    for _ in range(2):
        for given, wanted in batches_of(rows, rank):
            loss = (model(given) - wanted).square().mean()
            sgd.zero_grad()
            loss.backward()
            for one in model.parameters() if form != "split_model" else ():
                distributed.all_reduce(one.grad)
                one.grad /= 2
            sgd.step()
            with torch.no_grad():
                error = sum((model(x) - y).square().sum().item() for x, y in held_out)
            records.append({"step": len(records), "error": error})
    if rank == 0:
        with open(f"{folder}/log.jsonl", "w") as log:
            log.writelines(json.dumps(one) + "\n" for one in records)
    distributed.destroy_process_group()


main()
