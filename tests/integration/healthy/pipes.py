"""Environments in processes of their own that are asked over pipes, as vectorised environments are."""

import json
import multiprocessing
import sys


def environment(remote, parent, seed):
    parent.close()
    state = seed
    while True:
        command, action = remote.recv()
        if command == "close":
            remote.close()
            return
        state = (state * 31 + action) % 1009
        remote.send(state)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2] if len(sys.argv) > 2 else "forkserver")
    remotes, parts = zip(*(context.Pipe() for _ in range(3)), strict=True)
    workers = []
    for number, (remote, part) in enumerate(zip(remotes, parts, strict=True)):
        workers.append(context.Process(target=environment, args=(part, remote, number), daemon=True))
        workers[-1].start()
        part.close()
    with open(f"{sys.argv[1]}/metrics.jsonl", "w") as out:
        for step in range(20):
            for remote in remotes:
                remote.send(("step", step))
            loss = sum(remote.recv() for remote in remotes)
            out.write(json.dumps({"step": step, "loss": float(loss)}) + "\n")
    for remote in remotes:
        remote.send(("close", None))
    for one in workers:
        one.join()
