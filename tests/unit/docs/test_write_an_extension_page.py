"""What the page on writing an extension has as files is one: it loads, and its own test passes."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

from reprokit import extensions
from support.installed_extension import install

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "write-an-extension.md").read_text()
PROJECT, LIST = (tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL))
MODULES = dict(re.findall(r"`src/lab_rows/(\S+)`[^`]*:\n\n```python\n(.*?)```", TEXT, re.DOTALL))
(TEST,) = re.findall(r"`tests/test_row.py`[^`]*:\n\n```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(autouse=True)
def _loaded(tmp_path):
    extensions.unload()
    told = PROJECT["project"]
    (entry,) = told["entry-points"]["reprokit.extensions"].items()
    install(tmp_path / "site", MODULES, name=told["name"], version=told["version"], entry=" = ".join(entry))
    extensions.load(LIST["tool"]["reprokit"]["extensions"], site_packages=tmp_path / "site")
    yield
    extensions.unload()
    assert "lab_rows" not in sys.modules


def test_it_is_loaded_under_the_name_and_version_of_the_page():
    assert extensions.broken() == ()
    (one,) = extensions.loaded()
    assert (one.label, one.names("rows")) == ("lab-rows 1.0", ("short_runs",))


def test_its_own_test_passes(tmp_path):
    file = tmp_path / "test_row.py"
    file.write_text(TEST)
    spec = importlib.util.spec_from_file_location("page_of_an_extension", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_the_row(tmp_path)
