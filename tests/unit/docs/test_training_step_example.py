"""The test of one training step that the documentation shows passes as it stands, and fails as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "goldens-in-your-test-suite.md"


def shown() -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (block,) = (block for block in blocks if "verify_determinism" in block)
    return block


def run(source: str) -> None:
    names: dict[str, object] = {}
    exec(compile(source, str(PAGE), "exec"), names)  # noqa: S102  (the page's own example)
    with torch.random.fork_rng():
        names["test_one_training_step_repeats"]()


def test_the_example_passes() -> None:
    run(shown())


def test_noise_that_nobody_puts_back_is_named_as_the_page_says() -> None:
    noisy = shown().replace("model(inputs)", "model(inputs + 0.1 * torch.randn(32, 8, generator=noise))")
    noisy = noisy.replace("    def step", "    noise = torch.Generator().manual_seed(1)\n\n    def step")

    with pytest.raises(AssertionError, match=r"StepDifference\(what='output', name='loss', elements=1, "):
        run(noisy)
    run(noisy.replace("optimizer=optimizer)", 'optimizer=optimizer, generators={"noise": noise})'))
