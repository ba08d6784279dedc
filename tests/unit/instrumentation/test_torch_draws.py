"""Draws from PyTorch's default generator before it is seeded: which lines, and which are overwritten."""

import json

import pytest

from support.hooked_program import run_hooked

pytest.importorskip("torch")


def draws_of(tmp_path, source, **orders):
    out = tmp_path / "out"
    done = run_hooked(tmp_path, source, out=out, **orders)
    assert done.returncode == 0, done.stderr
    (trace,) = [json.loads(path.read_text()) for path in out.glob("trace-*.json")]
    sites = {one["line"]: one for one in trace["sites"].values() if one["kind"] == "torch_unseeded"}
    return sites, trace["facts"]


def test_every_line_that_draws_is_seen_until_the_program_seeds(tmp_path):
    sites, facts = draws_of(
        tmp_path, "import torch\ntorch.rand(2)\ntorch.randn(2)\ntorch.manual_seed(1)\ntorch.rand(2)\n"
    )
    assert sorted(sites) == [2, 3]
    assert facts["seeded 0"] == ["torch"]


def test_a_weight_that_is_initialised_twice_was_drawn_for_nothing(tmp_path):
    sites, facts = draws_of(
        tmp_path,
        "import torch\n"
        "layer = torch.nn.Linear(3, 3, bias=False)\n"
        "torch.nn.init.normal_(layer.weight)\n"
        "print(layer(torch.ones(3)).sum().item())\n",
    )
    assert {line: one["overwritten"] for line, one in sites.items()} == {2: True, 3: False}
    assert facts["seeded 0"] == []


@pytest.mark.parametrize(
    "read",
    ["b = a + 1", "a[0].zero_()", "torch.ones(3).copy_(a)", "a.mul_(2)"],
)
def test_what_is_read_before_it_is_overwritten_counts(tmp_path, read):
    sites, _ = draws_of(tmp_path, f"import torch\na = torch.rand(3)\n{read}\na.zero_()\n")
    assert sites[2]["overwritten"] is False


PROGRAM = """
import torch
torch.rand(2)
layer = torch.nn.Linear(2, 2)
for _ in range(7_000):
    layer(torch.ones(2))
print(torch.rand(3).tolist())
"""


def test_in_a_long_program_later_draws_follow_from_the_line_that_drew_last(tmp_path):
    """So a run that is given that line's values draws what the other run drew, and is not slowed down."""
    made = {}
    for name, orders in {
        "first": {"key": "a"},
        "other": {"key": "b"},
        "pinned": {"key": "b", "pins": ["*"], "replay_key": "a"},
    }.items():
        done = run_hooked(tmp_path, PROGRAM, out=tmp_path / name, **orders)
        assert done.returncode == 0, done.stderr
        made[name] = done.stdout
    assert made["first"] == made["pinned"] != made["other"]
