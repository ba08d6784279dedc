"""A bundle of this repository's own golden: opened, and every way in which its parts do not fit together."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import BundleError, EngineError, ImageError
from reprokit.features.bundles import open_bundle
from reprokit.features.bundles.bundle import bundle
from reprokit.features.bundles.reading import unpack
from reprokit.features.bundles.subject import subject_of
from reprokit.features.bundles.writing import Packed, write
from reprokit.harness import Request
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.numbers import PACKAGE, mounted_digest
from reprokit.harness.running.plan import plan_recipe
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import RECIPE
from support.fake_backend import REALISATION
from support.recorded_progress import RecordedProgress

ROOT = Path(__file__).resolve().parents[4]
GOLDEN = ROOT / "golden" / "cartpole_baseline" / "cpu-x86_64"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "ours.tar.gz"
    return bundle(
        GOLDEN, path, session=Session(project=Project.around(ROOT), progress=RecordedProgress()), vendor=False
    )


@pytest.fixture
def open_it(tmp_path):
    def opened(path, *, backend="local"):
        folder = tmp_path / "opened"
        folder.mkdir()
        home = Project.around(tmp_path)
        request = Request(backend=backend)
        told = RecordedProgress().note
        return open_bundle.opened(path, folder, request, sha256=None, home=home, on_progress=told)

    return opened


@pytest.fixture
def rewritten(written, tmp_path):
    """The bundle with some files changed by someone who rewrites manifest and digests as well."""

    def rewrite(change):
        folder = tmp_path / "theirs"
        folder.mkdir()
        manifest = unpack(written.path, folder).manifest
        (folder / "bundle.json").unlink()
        change(folder)
        files = {
            path.relative_to(folder).as_posix(): Packed(content=path)
            for path in folder.rglob("*")
            if path.is_file()
        }
        write(tmp_path / "theirs.tar.gz", files, manifest=manifest)
        return tmp_path / "theirs.tar.gz"

    return rewrite


def append(name: str, text: str = "\n# another line\n"):
    def change(folder: Path) -> None:
        with (folder / name).open("a") as stream:
            stream.write(text)

    return change


@pytest.mark.parametrize(("platform", "settings"), [("xla-cpu", ("platform=xla-cpu",)), ("cpu-x86_64", ())])
def test_a_golden_is_bundled_with_the_settings_that_its_platform_has(platform, settings):
    blessed = ROOT / "golden" / "mnist_cnn" / platform
    assert subject_of(blessed, project=Project.around(ROOT)).overrides == settings


def test_it_is_opened_with_its_own_golden_and_settings(written, open_it):
    found = open_it(written.path)
    assert (found.recipe.name, found.request.seed, found.request.backend) == (
        "cartpole_baseline",
        42,
        "local",
    )
    package = found.project.root / "package" / "reprokit"
    assert mounted_digest(package) == mounted_digest()
    assert (found.project.golden_dir / "cartpole_baseline" / "cpu-x86_64" / "seed-42").is_dir()
    told = {"file": "ours.tar.gz", "path": str(written.path), "sha256": written.sha256}
    assert {key: value for key, value in found.project.bundle.items() if key != "commit"} == told


def test_what_a_rewriter_leaves_alone_is_opened_too(rewritten, open_it):
    assert open_it(rewritten(lambda folder: None)).recipe.name == "cartpole_baseline"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (append("source/trainers/ppo.py"), "other files than those here: the recipe, the trainer"),
        (append("source/cartpole_baseline/recipe.yaml", "\nseeds: [1]\n"), "seeds|the recipe"),
        (append("images/cpu/requirements.lock"), "the lock of the environment"),
        (append("package/reprokit/runtime/launch.py"), "the runtime of the trainers"),
        (append("golden/cartpole_baseline/cpu-x86_64/seed-42/metrics.jsonl", "{}\n"), "promoted"),
    ],
    ids=["trainer", "recipe", "lock", "runtime", "metrics"],
)
def test_a_part_that_was_exchanged_does_not_fit_the_others(rewritten, open_it, change, what):
    with pytest.raises(Exception, match=what):
        open_it(rewritten(change))


def test_of_a_package_that_no_digest_covers_nothing_runs_where_the_runtime_here_is_the_same(
    rewritten, open_it
):
    found = open_it(rewritten(append("package/reprokit/__init__.py", "print('any numbers')\n")))
    assert found.project.package is None


def test_a_package_with_another_runtime_runs_and_that_is_said(tmp_path):
    package, notes = tmp_path / "reprokit", []
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "runtime" / "launch.py").write_text("# another\n")
    recipe = recipes.load("cartpole_baseline", recipes_dir=ROOT / "recipes")
    assert open_bundle._package_of_runs(recipe, package, on_progress=notes.append) == package
    assert "runtime differs from the one here" in notes[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["source/sitecustomize.py", "package/sitecustomize.py"])
def test_a_file_beside_the_code_gets_into_no_run(rewritten, open_it, tmp_path, name):
    def add(folder: Path) -> None:
        (folder / name).write_text("print('any numbers')\n")

    found = open_it(rewritten(add))
    package = found.project.package or PACKAGE
    there = Environment(realisation=REALISATION, backend="docker", runs_dir=tmp_path, package=package)
    plan = plan_recipe(found.recipe, seed=42, environment=there, stamp="x")
    assert not [file for file in plan.files if "sitecustomize" in file]
    mounts = {mount.name: mount.path for mount in plan.specs[0].mounts}
    assert mounts["reprokit"] == str(PACKAGE)
    assert not [path for path in mounts.values() if path.startswith(str(found.project.root))]


def test_the_golden_of_something_else_is_refused(rewritten, open_it):
    def swap(folder: Path) -> None:
        shutil.rmtree(folder / "golden")
        shutil.copytree(ROOT / "golden" / "cartpole_dqn", folder / "golden" / "cartpole_dqn")

    with pytest.raises(BundleError, match="a golden that is not its own"):
        open_it(rewritten(swap))


def test_an_environment_that_this_host_would_follow_is_refused(rewritten, open_it):
    with pytest.raises(ImageError, match="the Dockerfile of the environment 'cpu' differs"):
        open_it(rewritten(append("images/Dockerfile", "RUN id\n")))


@pytest.mark.parametrize("backend", ["auto", "docker"])
def test_without_an_engine_nothing_is_run(written, open_it, monkeypatch, backend):
    asked = []

    def no_engine(wanted):
        asked.append(wanted)
        raise EngineError("no engine answers")

    monkeypatch.setattr(open_bundle, "choose_backend", no_engine)
    with pytest.raises(EngineError, match="no engine answers"):
        open_it(written.path, backend=backend)
    assert asked == ["docker"]


def test_a_recipe_that_asks_for_the_network_is_refused(tmp_path):
    (tmp_path / "train").mkdir()
    text = RECIPE.replace("variant: none", "variant: cpu") + "network: {because: it fetches a model}\n"
    (tmp_path / "train" / "recipe.yaml").write_text(text)
    asking = recipes.load("train", recipes_dir=tmp_path)
    with pytest.raises(EngineError, match="asks for the network"):
        open_bundle._backend(asking, "auto", on_progress=print)


def test_a_trainer_imports_its_runtime_from_the_package_that_is_named(tmp_path):
    package = tmp_path / "package" / "reprokit"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "runtime" / "launch.py").write_text("# another\n")
    recipe = recipes.load("cartpole_baseline", recipes_dir=ROOT / "recipes")
    here = Environment(realisation=REALISATION, backend="docker", runs_dir=tmp_path)
    ours, theirs = (
        plan_recipe(recipe, seed=42, environment=environment, stamp="x")
        for environment in (here, replace(here, package=package))
    )
    [mount] = [one for one in theirs.specs[0].mounts if one.name == "reprokit"]
    assert (mount.path, mount.digest) == (str(package), theirs.facts["mounted_digest"])
    assert theirs.facts["digests"]["runtime"] != ours.facts["digests"]["runtime"]
    assert theirs.facts["digests"]["trainer"] == ours.facts["digests"]["trainer"]


def test_its_metadata_describes_every_file_and_links_nothing_that_is_not_there(written, tmp_path):
    unpack(written.path, tmp_path)
    crate = json.loads((tmp_path / "ro-crate-metadata.json").read_text())
    graph = {one["@id"]: one for one in crate["@graph"]}
    assert len(graph) == len(crate["@graph"])
    assert graph["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert graph["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    root = graph["./"]
    assert root["@type"] == "Dataset"
    assert all(root[key] for key in ("name", "description", "datePublished", "license"))
    parts = {one["@id"] for one in root["hasPart"]}
    on_disk = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert parts == on_disk - {"ro-crate-metadata.json"}
    manifest = json.loads((tmp_path / "bundle.json").read_text())["files"]
    for name in parts - {"bundle.json"}:
        assert f"sha256:{graph[name]['sha256']}" == manifest[name]["sha256"]
        assert graph[name]["contentSize"] == str(manifest[name]["bytes"])
