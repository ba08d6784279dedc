"""A vector of environments; in some forms all of them begin with one seed.

python environments.py SEED FOLDER sync|async|evaluation|sync_cloned|async_cloned
"""

import json
import sys

import gymnasium

seed, folder, form = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def one():
    return gymnasium.make("CartPole-v1")


def main():
    if form.startswith("async"):
        environments = gymnasium.vector.AsyncVectorEnv([one] * 3)  # LINE async_cloned
    else:
        environments = gymnasium.vector.SyncVectorEnv([one] * 3)
    environments.single_action_space.seed(seed)
    environments.action_space.seed(seed)
    if form.endswith("cloned"):
        seen, _ = environments.reset(seed=[seed] * 3)  # LINE sync_cloned
    else:
        seen, _ = environments.reset(seed=seed)
    if form == "evaluation":  # with the seed of the first environment, as it often is
        gymnasium.vector.SyncVectorEnv([one] * 2).reset(seed=seed)
        one().reset(seed=seed)
    with open(f"{folder}/log.jsonl", "w") as log:
        for step in range(8):
            seen = environments.step(environments.action_space.sample())[0]
            log.write(json.dumps({"step": step, "seen": float(seen.sum())}) + "\n")
    environments.close()


if __name__ == "__main__":
    main()
