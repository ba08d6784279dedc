"""The discounted return of every environment, followed over rollouts: what rewards are scaled by.

>>> following = DiscountedReturns(16)
>>> moments.see(following.follow(rollout.rewards, rollout.done, gamma=0.99).reshape(-1))
>>> scaled = np.clip(rollout.rewards * moments.scale(), -10, 10)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class DiscountedReturns:
    """R = gamma · R + reward in each environment, begun anew with each episode.

    Args:
        num_envs: How many there are.
    """

    def __init__(self, num_envs: int) -> None:
        self.now = np.zeros(num_envs)

    def follow(
        self, rewards: NDArray[np.float32], done: NDArray[np.bool_], *, gamma: float
    ) -> NDArray[np.float64]:
        """What they were after every step, float64 [steps, num_envs], of rewards and ends of that shape."""
        returns = np.empty(rewards.shape)
        for t, (reward, ended) in enumerate(zip(rewards, done, strict=True)):
            returns[t] = self.now = self.now * gamma + reward
            self.now = np.where(ended, 0.0, self.now)
        return returns

    def state_dict(self) -> dict[str, Any]:
        """What they are now."""
        return {"now": self.now.tolist()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take that over."""
        self.now = np.array(state["now"])
