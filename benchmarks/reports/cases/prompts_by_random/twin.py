"""A reward-weighted update of a small policy, on prompts that are shuffled and rewards with noise."""
import json
import random
import sys

import numpy as np
import torch

PROMPTS = [[(7 * i + j) % 11 for j in range(4)] for i in range(12)]


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.random.manual_seed(seed)


def reward(tokens):
    return float(tokens.float().mean()) / 10 + np.random.normal(scale=0.05)


def main(out):
    set_seed(1000)
    policy = torch.nn.Sequential(torch.nn.Embedding(11, 8), torch.nn.Flatten(), torch.nn.Linear(32, 11))
    optimizer = torch.optim.AdamW(policy.parameters(), lr=0.01)
    prompts = list(PROMPTS)
    step = 0
    with open(out + "/metrics.jsonl", "w") as log:
        for _ in range(3):
            random.shuffle(prompts)
            for first in range(0, len(prompts), 4):
                batch = torch.tensor(prompts[first : first + 4])
                drawn = torch.distributions.Categorical(logits=policy(batch))
                actions = drawn.sample()
                rewards = torch.tensor([reward(action) for action in actions])
                loss = -(drawn.log_prob(actions) * rewards).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                log.write(json.dumps({"step": step, "loss": loss.item(), "reward": rewards.mean().item()}) + "\n")
                step += 1


if __name__ == "__main__":
    main(sys.argv[1])
