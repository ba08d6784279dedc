"""Two ranks that torchrun starts on one machine, with gloo."""

import json
import os
import subprocess
import sys

if __name__ == "__main__" and "RANK" not in os.environ:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    raise SystemExit(subprocess.run([*command, __file__, *sys.argv[1:]], check=False).returncode)

import torch
import torch.distributed as dist

if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    total = torch.rand(4)
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
            out.write(json.dumps({"step": 0, "loss": total.sum().item()}) + "\n")
    dist.destroy_process_group()
