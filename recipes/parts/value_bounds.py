"""Whether action values can be true: no episode is worth more than its largest reward at every step.

>>> record |= judge_values(record, largest_reward, gamma=0.99, num_steps=500)
"""

from __future__ import annotations

import sys


def value_bound(largest_reward: float, *, gamma: float, num_steps: int) -> float:
    """The most that an episode of so many steps can be worth: the sum of γ^t times the largest reward."""
    horizon = float(num_steps) if gamma == 1 else (1 - gamma**num_steps) / (1 - gamma)
    return largest_reward * horizon


def judge_values(
    record: dict[str, float], largest_reward: float, *, gamma: float, num_steps: int
) -> dict[str, float]:
    """The values' bound, and whether ``q/magnitude`` is beyond it: overestimated, or diverging."""
    bound = value_bound(largest_reward, gamma=gamma, num_steps=num_steps)
    within = largest_reward == 0 or record.get("q/magnitude", 0.0) <= bound  # no reward seen, no bound
    return {"q/bound": bound, "q/beyond_bound": float(not within)}


def warn_beyond_bound(record: dict[str, float], *, step: int, already: bool) -> bool:
    """Say so on stderr when the values leave their bound, once for each time that they do."""
    beyond = bool(record["q/beyond_bound"])
    if beyond and not already:
        sys.stderr.write(
            f"warning: step {step}: values of up to {record['q/magnitude']:.4g}, where no episode's "
            f"return can exceed {record['q/bound']:.4g}\n"
        )
    return beyond
