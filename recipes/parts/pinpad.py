"""PinPad: an environment with three pads to step on in the right order, and a reward only for the last.

After the task of that name in the Director paper (https://arxiv.org/abs/2206.04114).

    >>> env = gymnasium.make(SPEC)
    >>> observation, info = env.reset(seed=42)

The player walks on the free cells of a room, one cell a step or none. The last three pads that it stepped
on are remembered. When they are the first, the second and the third in this order, the reward is 1
and the episode ends; any other step brings 0. Only where an episode begins is random.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

ROOM = (
    "#########",
    "#11...22#",
    "#11...22#",
    "#.......#",
    "#.......#",
    "#...3...#",
    "#..333..#",
    "#########",
)
NUM_PADS = 3
NOBODY = 0  # no pad was stepped on yet

_MOVES = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))  # stay, up, down, left, right


class PinPad(gymnasium.Env[NDArray[np.float32], np.int64]):
    """The environment.

    Observations are float32 [11]: row and column, from -1 to 1; then of each of the last three pads,
    the latest last, which one it was (one of three ones, or none). Actions are 0 stay, 1 up, 2 down,
    3 left, 4 right. There is no limit on steps: ``SPEC`` sets one.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - gymnasium's

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2 + NUM_PADS * NUM_PADS,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(_MOVES))
        self.row = self.column = 1
        self.pads: tuple[int, ...] = (NOBODY,) * NUM_PADS

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin on a free cell that is no pad, each as likely, with no pad stepped on."""
        super().reset(seed=seed, options=options)
        free = [
            (row, column)
            for row, cells in enumerate(ROOM)
            for column, cell in enumerate(cells)
            if cell == "."
        ]
        self.row, self.column = free[int(self.np_random.integers(len(free)))]
        self.pads = (NOBODY,) * NUM_PADS
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Walk one cell where no wall is in the way."""
        down, right = _MOVES[int(action)]
        cell = ROOM[self.row + down][self.column + right]
        if cell != "#":
            self.row, self.column = self.row + down, self.column + right
        if cell.isdigit() and int(cell) != self.pads[-1]:
            self.pads = (*self.pads[1:], int(cell))
        solved = self.pads == tuple(range(1, NUM_PADS + 1))
        return self._observation(), float(solved), solved, False, {}

    def render(self) -> str:
        """The room as text, the player as ``@``."""
        rows = [list(cells) for cells in ROOM]
        rows[self.row][self.column] = "@"
        return "\n".join("".join(row) for row in rows) + "\n"

    def _observation(self) -> NDArray[np.float32]:
        seen = np.zeros(2 + NUM_PADS * NUM_PADS, dtype=np.float32)
        seen[0] = 2 * (self.row - 1) / (len(ROOM) - 3) - 1
        seen[1] = 2 * (self.column - 1) / (len(ROOM[0]) - 3) - 1
        for slot, pad in enumerate(self.pads):
            if pad != NOBODY:
                seen[2 + slot * NUM_PADS + pad - 1] = 1.0
        return seen


#: What ``gymnasium.make`` takes; it is in nobody's registry, so that importing this changes nothing.
SPEC = EnvSpec(id="PinPad-v0", entry_point="recipes.parts.pinpad:PinPad", max_episode_steps=100)
