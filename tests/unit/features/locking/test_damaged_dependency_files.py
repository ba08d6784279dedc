"""Files of dependencies that are cut short or of another form are refused, and never read as no packages."""

from __future__ import annotations

import pytest

from reprokit.errors import ImageError
from reprokit.features.locking.dependencies import Wanted, read_dependencies

LACKS, FORM = "there is no list of", "not of the form that such a file has"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("pylock.toml", 'lock-version = "1.0"\n', LACKS),
        ("pylock.toml", '[[package]]\nname = "six"\nversion = "1.17.0"\n', LACKS),
        ("pylock.toml", "packages = 5\n", FORM),
        ("pylock.toml", "packages = [1]\n", FORM),
        ("pylock.toml", '[[packages]]\nname = "six"\nversion = "1"\nwheels = [5]\n', FORM),
        ("poetry.lock", '[metadata]\nlock-version = "2.1"\n', LACKS),
        ("poetry.lock", 'package = "six"\n', FORM),
        ("pyproject.toml", "[project]\ndependencies = 5\n", FORM),
        ("pyproject.toml", "tool = 5\n", FORM),
        ("environment.yml", "dependencies: [{pip: 5}]\n", FORM),
        ("pixi.toml", "pypi-dependencies = 5\n", FORM),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path, name, text, what):
    (tmp_path / name).write_text(text)
    with pytest.raises(ImageError, match=what) as refused:
        read_dependencies(tmp_path / name, root=tmp_path, wanted=Wanted())
    assert str(tmp_path / name) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"), [("pylock.toml", "packages = []\n"), ("poetry.lock", "package = []\n")]
)
def test_a_lock_that_says_that_no_package_is_needed_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_dependencies(tmp_path / name, root=tmp_path, wanted=Wanted()).requirements == ()
