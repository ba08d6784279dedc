"""`reprokit diagnose` on ranks that a program starts itself: the one that differs first is named."""

import json
import socket
import subprocess
import sys

import pytest

PROGRAM = """\
import os, sys, time, json
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def main(rank):
    if "RANK" not in os.environ:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator()
    data.manual_seed(time.time_ns() % 2**31 if rank else 7)
    for _ in range(10):
        batch = torch.randn(16, 8, generator=data)
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for one in model.parameters():
            dist.all_reduce(one.grad)
        optimizer.step()
    if rank == 0:
        with open(f"{sys.argv[1]}/metrics.jsonl", "w") as file:
            file.write(json.dumps({"step": 0, "loss": model.weight.sum().item()}) + "\\n")
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main(int(os.environ["RANK"])) if "RANK" in os.environ else mp.spawn(main, nprocs=2)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("launcher", [TORCHRUN, ()], ids=["torchrun", "spawn"])
def test_the_rank_that_draws_otherwise_is_named_and_not_the_one_that_gets_its_gradients(tmp_path, launcher):
    (tmp_path / "train.py").write_text(PROGRAM)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = [sys.executable, *launcher, "train.py", "{run_dir}", str(port)]
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "diagnose", "--json", "--", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    first = answer["divergence"]
    assert (first["rank"], first["update"], first["stream"]) == (1, 1, "batch")
    (line,) = [number for number, text in enumerate(PROGRAM.splitlines(), 1) if "time_ns" in text]
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("clock", line)
