"""A fixed list of actions is played in an environment whose specification says that it is deterministic."""
import json
import sys

import gymnasium
import numpy as np


def main(out):
    actions = np.random.default_rng(0).integers(0, 2, 40)
    environment = gymnasium.make("CartPole-v1")
    if environment.spec.nondeterministic:
        raise SystemExit("this comparison needs a deterministic environment")
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(4):
            environment.reset()
            total = 0.0
            for action in actions:
                state, reward, ended, _, _ = environment.step(int(action))
                total += reward - abs(float(state[2]))
                if ended:
                    break
            log.write(json.dumps({"step": step, "return": total}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
