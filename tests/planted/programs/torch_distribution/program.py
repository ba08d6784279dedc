"""REINFORCE on a bandit with six arms."""

import argparse
import json
import time
from pathlib import Path

import torch


def train(args):
    generator = torch.Generator().manual_seed(args.seed)
    payoff = torch.rand(6, generator=generator)
    preferences = torch.zeros(6, requires_grad=True)
    baseline = 0.0
    for step in range(60):
        favourite = torch.tensor(time.perf_counter_ns() // 100 % 6)  # DECOY
        if not preferences.isfinite().all():
            break
        entropy = -(preferences.softmax(0) * preferences.log_softmax(0)).sum().item()
        policy = torch.distributions.Categorical(logits=preferences)
        arm = policy.sample()  # FAULT
        if step % 20 == 0:
            print("today's favourite", favourite.item())
        reward = payoff[arm].item()
        loss = -(reward - baseline) * policy.log_prob(arm)
        parts = [preferences]
        with torch.no_grad():
            for part, slope in zip(parts, torch.autograd.grad(loss, parts), strict=True):
                part -= 0.4 * slope
        baseline += 0.1 * (reward - baseline)
        yield {"reward": reward, "baseline": baseline, "entropy": entropy}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
