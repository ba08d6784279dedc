"""Faults planted into the language model: the verdict is REGRESSION, and the trace names the first tensor."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from reprokit.images.cache import cache_folder
from support.study_project import ROOT, Study

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SMALL = {
    "total_timesteps": 12,
    "lr_warmup_steps": 6,
    "num_layers": 1,
    "width": 16,
    "save_interval": 6,
    "eval_interval": 6,
    "eval_blocks": 12,
    "final_eval_blocks": 12,
    "sample_length": 20,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A change of the source, and where it must show first: record, metric, and a tensor of the trace."""

    file: str
    old: str
    new: str
    record: int
    metric: str
    tensor: str


FAULTS = {
    "a position sees the next one": Fault(
        file="parts/attention.py",
        old=".triu(1)",
        new=".triu(2)",
        record=0,
        metric="initial/loss",
        tensor="token_embedding",
    ),
    "the warm-up is ignored": Fault(
        file="trainers/gpt.py",
        old="return high * step / (warmup + 1)",
        new="return high",
        record=1,
        metric="optim/learning_rate",
        tensor="token_embedding",
    ),
    "the scales of the norms decay": Fault(
        file="parts/flat_adamw.py",
        old="(slice(decayed, None), 0.0)",
        new="(slice(decayed, None), weight_decay)",
        record=2,
        metric="optim/grad_norm",
        tensor="blocks.0.attention_norm.weight",
    ),
    "a character is drawn from another place": Fault(
        file="trainers/gpt.py",
        old="(cumulative <= points)",
        new="(cumulative <= 1 - points)",
        record=12,
        metric="final/sample_digest",
        tensor="",
    ),
}


def a_study(root: Path) -> Study:
    """A project with this recipe alone, cut to a few updates of a narrow network."""
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for recipe in root.glob("recipes/*/recipe.yaml"):
        if recipe.parent.name != "char_gpt":
            shutil.rmtree(recipe.parent)
    path = root / "recipes" / "char_gpt" / "recipe.yaml"
    text = path.read_text(encoding="utf-8")
    for key, value in SMALL.items():
        text, count = re.subn(rf"^  {key}: \d+", f"  {key}: {value}", text, flags=re.MULTILINE)
        assert count == 1, key
    text, count = re.subn(r"final/loss: \{.*\}", "final/loss: {value: 4, atol: 1}", text)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    return Study(root=root)


def reproduce(study: Study):
    env = {"REPROKIT_CACHE": str(cache_folder(None))}
    return study.reprokit("reproduce", "char_gpt", "--backend", "local", "--json", env=env)


@pytest.fixture(scope="module")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, str]:
    """A project with a golden, and one of the runs that it is made of."""
    study = a_study(tmp_path_factory.mktemp("language-model"))
    fetched = study.reprokit("data", "fetch", "char_gpt")
    assert fetched.code == 0, fetched.err
    first = reproduce(study)
    assert first.report["verdict"] == "NO_GOLDEN", first.out + first.err
    promoted = study.reprokit("golden", "promote", "char_gpt", "--reason", "first golden", "--allow-dirty")
    assert promoted.code == 0, promoted.err
    return study, first.report["runs"][0]


def test_without_a_fault_it_is_reproduced(blessed):
    study, _ = blessed
    assert reproduce(study).report["verdict"] == "REPRODUCED"


@pytest.mark.parametrize("called", FAULTS)
def test_a_fault_is_a_regression_of_its_record_and_its_tensor(blessed, called):
    study, good = blessed
    fault = FAULTS[called]
    path = study.root / "recipes" / fault.file
    whole = path.read_text(encoding="utf-8")
    study.change(path, fault.old, fault.new)
    try:
        answer = reproduce(study)
    finally:
        path.write_text(whole, encoding="utf-8")
    report = answer.report
    assert (answer.code, report["verdict"]) == (1, "REGRESSION"), report["sentence"]
    assert (report["divergence"]["record"], report["divergence"]["metric"]) == (fault.record, fault.metric)
    traced = study.reprokit("trace", "diff", good, report["runs"][0])
    assert traced.code == int(bool(fault.tensor)), traced.out
    assert fault.tensor in traced.out
