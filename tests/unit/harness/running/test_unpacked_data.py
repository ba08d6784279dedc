"""A trainer is given an archive that is unpacked as a folder, with a digest of all that is in it."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import pytest

from reprokit import data, file_tree, recipes
from reprokit.core.records import digest_bytes
from reprokit.errors import DataError
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.environments.recipe_data import sources_of
from reprokit.harness.running.plan import plan_recipe
from support.fake_backend import REALISATION

ROOT = Path(__file__).resolve().parents[4]


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("tables/digits.csv"), "1,0\n")
    return out.getvalue()


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Fetches an archive for `digits_mlp`; called, it plans a run of it."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("REPROKIT_CACHE", str(cache))
    for name in ("digits_mlp", "trainers", "parts"):
        shutil.copytree(ROOT / "recipes" / name, tmp_path / "recipes" / name)
    (tmp_path / "a.zip").write_bytes(zipped())
    file = tmp_path / "recipes" / "digits_mlp" / "recipe.yaml"
    entry = f"{{path: a.zip, sha256: '{digest_bytes(zipped())}', size: {len(zipped())}, unpack: zip}}"
    before, _, after = file.read_text().partition("data:\n")
    _, _, rest = after.partition("\n\n")
    file.write_text(f"{before}data:\n  digits: {entry}\n\n{rest}")
    recipe = recipes.load("digits_mlp", recipes_dir=tmp_path / "recipes")
    (source,) = sources_of(recipe)
    data.fetch(source, cache=cache, offline=True, on_progress=lambda *_: None)

    def plan():
        there = Environment(realisation=REALISATION, backend="local", runs_dir=tmp_path / "runs")
        return plan_recipe(recipe, seed=42, environment=there, stamp="x")

    return plan


def test_its_option_names_the_digest_of_the_folder_and_run_json_that_of_the_archive(planned):
    plan = planned()
    (mount,) = [one for one in plan.specs[0].mounts if one.folder == "data"]
    command = plan.specs[0].command
    at = command.index("--data")
    expected = file_tree.digest_of(Path(mount.path))
    assert command[at + 1 : at + 4] == ("digits", expected, "{mounts}/data/digits")
    assert plan.facts["data"] == {"digits": digest_bytes(zipped())}


def test_a_folder_that_is_not_its_archive_any_more_is_no_run(planned):
    (mount,) = [one for one in planned().specs[0].mounts if one.folder == "data"]
    (Path(mount.path) / "tables" / "more.csv").write_text("")
    with pytest.raises(DataError, match=r"changed in the cache: tables/more\.csv is not in the archive"):
        planned()
