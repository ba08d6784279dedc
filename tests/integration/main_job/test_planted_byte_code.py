"""Byte-code planted next to the tool's sources is never what trains, nor what supplies the evidence."""

from __future__ import annotations

import importlib.util
import py_compile
import shutil
import sys
from pathlib import Path

import pytest

from support.study_project import ROOT, Study, make_study

PYTHON = (3, 11)  # of the variant `cpu`
#: What trains, what supplies the evidence from inside, and what is only ever imported next to them.
SOURCES = ("runtime/launch.py", "runtime/metrics.py", "capture/probe.py", "errors.py")
EVIDENCE = (
    'import os\nif os.environ.get("REPROKIT_PLANTED", "1") == "1": open("planted", "a").write(__name__)\n'
)

pytestmark = pytest.mark.skipif(sys.version_info[:2] != PYTHON, reason="byte-code is planted for Python 3.11")


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which every Python believes planted byte-code without a look at the source."""
    folder = tmp_path_factory.mktemp("tool")
    shutil.copytree(ROOT / "reprokit", folder / "reprokit", ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        source = folder / "reprokit" / name
        planted = folder / "planted.py"
        text = source.read_text(encoding="utf-8")
        future = "from __future__ import annotations\n"
        assert future in text
        planted.write_text(text.replace(future, future + EVIDENCE, 1), encoding="utf-8")
        py_compile.compile(
            str(planted),
            cfile=importlib.util.cache_from_source(str(source)),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.mark.sample(1)
@pytest.mark.parametrize("backend", ["local", pytest.param("docker", marks=pytest.mark.engine)])
def test_a_run_uses_no_byte_code_that_lay_beside_the_package(tool: Path, study: Study, backend: str):
    variables = {"PYTHONPATH": str(tool), "PYTHONDONTWRITEBYTECODE": "1", "REPROKIT_PLANTED": "0"}
    answer = study.reprokit("run", "cartpole_baseline", "--backend", backend, env=variables)
    assert answer.code == 0, answer.err
    newest = max(study.runs, key=lambda record: record.stat().st_mtime).parent
    assert (newest / "COMPLETE").is_file()
    planted = [path.read_text() for path in newest.rglob("planted")]
    assert planted == []
    assert not (newest / ".mounted").exists()
    # it lies there still: who starts the package as it is gets it
    assert len(list((tool / "reprokit").rglob("*.pyc"))) == len(SOURCES)
