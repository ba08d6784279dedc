"""A changed setting, trainer or label of `digits_mlp` is a REGRESSION that names the record."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.images.cache import cache_folder

PROJECT = Path(__file__).resolve().parents[2]
RECIPE = "recipes/digits_mlp/recipe.yaml"
TRAINER = "recipes/trainers/classifier.py"

pytest.importorskip("torch")


@pytest.fixture
def project(tmp_path):
    """A copy of what a verify of `digits_mlp` needs."""
    for name in ("recipes/digits_mlp", "recipes/trainers", "recipes/parts", "golden/digits_mlp", "images"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


def replaced(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def verified(project):
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "verify", "digits_mlp", "--backend", "local", "--json"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    report = answer["reports"][0] if "reports" in answer else answer
    return done.returncode, report, done.stderr


def with_one_label_wrong(project):
    """The first training sample of the table gets another label; the recipe declares the new file."""
    entry = re.search(r"sha256: sha256:([0-9a-f]{64})", (project / RECIPE).read_text(encoding="utf-8"))
    lines = gzip.decompress((cache_folder(None) / "data" / entry[1]).read_bytes()).splitlines(keepends=True)
    lines[0] = lines[0].rstrip().rpartition(b",")[0] + b",7\n"
    content = gzip.compress(b"".join(lines), mtime=0)
    (project / "digits.csv.gz").write_bytes(content)
    replaced(project / RECIPE, entry[1], hashlib.sha256(content).hexdigest())
    text = re.sub(r"url: package://\S+", "path: digits.csv.gz", (project / RECIPE).read_text("utf-8"))
    (project / RECIPE).write_text(re.sub(r"size: \d+", f"size: {len(content)}", text), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "reprokit", "data", "fetch", "digits_mlp"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        lambda project: replaced(project / RECIPE, "learning_rate: 3e-3", "learning_rate: 3.1e-3"),
        lambda project: replaced(project / TRAINER, 'derive("order", epoch)', 'derive("order", epoch + 1)'),
        with_one_label_wrong,
    ],
    ids=["learning rate", "order of the samples", "one label"],
)
def test_a_planted_regression_is_named_with_its_record(plant, project):
    plant(project)
    code, report, said = verified(project)
    assert (code, report["verdict"]) == (1, "REGRESSION"), said
    assert report["divergence"]["metric"]
    assert report["divergence"]["record"] >= 0
