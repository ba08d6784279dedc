"""Replays the recorded calls of one environment in a process of its own.

Global generators are seeded first: an environment that draws from them is not the cause of what they hold.

Orders as for the watch; ``progress`` holds ``script``: the environment's specification and every call. The
digests of its answers are written to ``alone.json`` next to the trace.

    $ REPROKIT_HOOK=orders.json python -m reprokit_hook.simulator_replay
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

from reprokit_hook import digests  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    """Do it again, and write digests of the answers."""
    with open(os.environ["REPROKIT_HOOK"], encoding="utf-8") as stream:
        orders = json.load(stream)
    script = orders["progress"]["script"]
    sys.path[:0] = script["path"]
    import gymnasium

    spec = gymnasium.envs.registration.EnvSpec.from_json(script["spec"])
    environment = gymnasium.make(spec, disable_env_checker=True).unwrapped
    _seed_globals()
    answers = [_done(environment, one) for one in script["calls"]]
    with open(os.path.join(orders["out"], "alone.json"), "w", encoding="utf-8") as stream:
        json.dump(answers, stream)


def _seed_globals() -> None:
    """As the program may have done: an environment that only draws from them then answers alike."""
    random.seed(0)
    for name, seed in (("numpy.random", "seed"), ("torch", "manual_seed")):
        if name in sys.modules:
            getattr(sys.modules[name], seed)(0)


def _done(environment: Any, call: dict[str, Any]) -> str:
    args, options = _read(call["args"]), _read(call["options"])
    made = (environment.reset if call["reset"] else environment.step)(*args, **options)
    return str(digests.of(made[0] if call["reset"] else made[:4]))


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        import numpy as np

        made = np.asarray(value["array"], dtype=value["dtype"])
        return made if made.ndim else made[()]
    if "dict" in value:
        return {key: _read(one) for key, one in value["dict"]}
    return tuple(_read(one) for one in value["tuple"])


if __name__ == "__main__":
    main()
