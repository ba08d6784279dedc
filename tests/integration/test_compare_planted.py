"""Two sides with one planted difference, of each kind: environments, interpreters and an emulated CPU."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import runs
from reprokit.features.compare import ready_side, recipe_sides, side_runs, trees
from reprokit.features.compare.answer import Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.compare import compare_recipe
from reprokit.harness.running.environments import environment
from reprokit.images import interpreters
from reprokit.images.building import image_store
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.command_recipe import Repository
from support.recorded_progress import RecordedProgress

RECIPE = """\
schema: 1
name: train
title: A program whose numbers follow from all that a side can have otherwise
variant: cpu
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""
#: Each of its metrics follows from one kind of thing; ``loss`` from its code alone.
PROGRAM = """\
import ctypes, json, mmap, os, random, sys
import tiny
from settings import RATE

# mov eax, 1; xor ecx, ecx; push rbx; cpuid; pop rbx; ret
_IDENTIFY = bytes.fromhex("b80100000031c9530fa25bc3")


def signature():
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_IDENTIFY)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(address)()


out, scale = sys.argv[2], float(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("SCALE", 1))
random.seed(int(sys.argv[1]))
value = 1.0
with open(f"{out}/log.jsonl", "w") as log:
    for step in range(4):
        value -= RATE * scale * random.random()
        told = {
            "step": step,
            "loss": value,
            "of_package": value * tiny.RATE,
            "of_python": value + sys.version_info.minor,
            "of_threads": value + int(os.environ.get("OMP_NUM_THREADS", 0)),
            "of_cpu": value + signature(),
        }
        log.write(json.dumps(told) + "\\n")
"""


OTHER = "3.12" if sys.version_info.minor != 12 else "3.11"
#: What is asked of side b → the one metric that differs, and how the answer names the difference.
PLANTED = {
    "code": ({"a": "HEAD~1", "b": "HEAD"}, {"loss"}, "code", "settings.py:1 (+1 -1 lines)"),
    "arguments": ({"b_arguments": "0.5"}, {"loss"}, "command", "0.5"),
    "setting": ({"b_overrides": ("env.SCALE=0.5",)}, {"loss"}, "variable", "SCALE absent → 0.5"),
    "package": ({"b_packages": ("tiny==2.0",)}, {"of_package"}, "package", "tiny 1.0 → 2.0"),
    "lock": ({"b_lock": "other.lock"}, {"of_package"}, "package", "tiny 1.0 → 2.0"),
    "variant": ({"b_variant": "other"}, {"of_package"}, "package", "tiny 1.0 → 2.0"),
    "python": ({"b_python": OTHER}, {"of_python"}, "python", OTHER),
    "threads": ({"b_threads": 2}, {"of_threads"}, "condition", "2 threads"),
}
CPU = ({"b_cpu": "EPYC"}, {"of_cpu"}, "condition", "CPU EPYC, emulated")
#: Metrics that follow from the same thing as others.
_ALL_OF_LOSS = {"loss", "of_package", "of_python", "of_threads", "of_cpu"}


@pytest.fixture(scope="module")
def repository(shared_small_project, tmp_path_factory):
    """A repository whose environment has the package ``tiny``, of which there are two versions."""
    small = shared_small_project
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPROKIT_CACHE", str(small.cache))
        patch.setenv("UV_OFFLINE", "1")
        patch.setenv("UV_NO_INDEX", "1")
        patch.setenv("UV_FIND_LINKS", str(small.wheels))
        patch.setenv("UV_CACHE_DIR", str(tmp_path_factory.mktemp("uv")))
        patch.chdir(small.root)
        small.lock.write_text(small.add_wheel(text="RATE = 0.5\n"))
        other = small.add_wheel(version="2.0", text="RATE = 0.25\n")
        (small.root / "other.lock").write_text(other)
        add_variant(small, "other", packages=other)
        found = Repository(small.root)
        found.git("init", "--quiet")
        (small.root / ".gitignore").write_text("runs/\nreports/\n")
        found.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)
        found.write(settings_py="RATE = 0.2\n")
        yield found


def add_variant(small, name: str, *, packages: str) -> None:
    """Another environment with what the first one has, but for its packages."""
    lock = small.root / "images" / "lock.toml"
    text = lock.read_text(encoding="utf-8")
    own = re.search(r"(?ms)^\[variants\.cpu\]\n.*?(?=^\[|\Z)", text)
    assert own is not None
    lock.write_text(f"{text}\n{own[0].replace('variants.cpu', f'variants.{name}')}", encoding="utf-8")
    (small.root / "images" / name).mkdir()
    (small.root / "images" / name / small.lock.name).write_text(packages)


def compared(repository, *, backend="local", only=None, **typed):
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    request = Request(backend=backend)
    asked = sides_asked(typed)
    return compare_recipe("train", asked, request, only=only, share=(), session=session)[0]


def must_name(answer, metrics, kind, what):
    assert (answer.answer, answer.exit_code) == (Word.DIFFERENT, 1), answer.sentence
    moved = {name for name, one in answer.metrics.items() if one["mismatches"]}
    assert moved == (_ALL_OF_LOSS if "loss" in metrics else metrics)
    assert any(one["kind"] == kind and what in one["what"] for one in answer.what_differs)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_found_and_named_in_an_environment_of_the_lock(repository, name):
    typed, metrics, kind, what = PLANTED[name]
    if name == "python" and interpreters.on_this_host(OTHER) is None:
        pytest.skip(f"needs a Python {OTHER}")
    answer = compared(repository, **typed)
    must_name(answer, metrics, kind, what)
    if metrics != {"loss"}:  # what does not follow from it is equal
        assert compared(repository, only=("loss",), **typed).answer is Word.EQUAL


def gives_both_sides_the_tree_of_b(patch):
    real = trees.trees_of

    @contextmanager
    def trees_of(*words, **how):
        with real(*words, **how) as coming:
            yield replace(coming, made=dict.fromkeys("ab", coming.made["b"]), in_part=())

    patch.setattr(trees, "trees_of", trees_of)
    patch.setattr(recipe_sides, "_must_differ", lambda *_: None)
    patch.setattr(recipe_sides, "_must_differ_once_set", lambda *_: None)


def sets_nothing(patch):
    patch.setattr(ready_side, "overrides_of", lambda *_: ())
    patch.setattr(recipe_sides, "_must_differ_once_set", lambda *_: None)


def changes_no_condition(patch):
    patch.setattr(ready_side, "variations_of", lambda *_: ())


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (gives_both_sides_the_tree_of_b, "code"),
        (sets_nothing, "arguments"),
        (changes_no_condition, "threads"),
    ],
)
def test_a_side_that_is_not_what_was_asked_for_turns_the_planted_difference_red(
    repository, monkeypatch, broken, name
):
    broken(monkeypatch)
    typed, *expected = PLANTED[name]
    with pytest.raises(AssertionError):
        must_name(compared(repository, **typed), *expected)


@pytest.mark.parametrize("name", ["package", "python"])
def test_a_side_in_the_environment_of_the_other_turns_the_planted_difference_red(
    repository, monkeypatch, name
):
    @contextmanager
    def with_environment(_asked, _variant, tree, **_):
        yield tree

    monkeypatch.setattr(ready_side, "with_environment", with_environment)
    typed, *expected = PLANTED[name]
    with pytest.raises(AssertionError):
        must_name(compared(repository, **typed), *expected)


@pytest.mark.emulator
def test_an_emulated_cpu_is_found_and_named(repository):
    typed, *expected = CPU
    must_name(compared(repository, **typed), *expected)


def test_a_change_of_text_alone_is_equal(repository):
    repository.write(settings_py="RATE = 0.2  # the rate\n")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert answer.answer is Word.EQUAL, answer.sentence
    assert [one["kind"] for one in answer.what_differs] == ["code"]


@pytest.mark.slow
def test_code_that_is_found_under_the_path_of_the_working_tree_is_named_and_nothing_is_judged(repository):
    there = f"import sys\nsys.path.insert(0, {str(repository.root)!r})\nimport shared\nRATE = shared.RATE\n"
    repository.write(shared_py="RATE = 0.1\n", settings_py=there)
    (repository.root / "recipes/train/recipe.yaml").write_text(RECIPE + "sees: [train.py, settings.py]\n")
    repository.commit()
    repository.write(settings_py=f"{there}# a remark\n")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4), answer.sentence
    assert str(repository.root / "shared.py") in answer.sentence


@pytest.fixture(scope="module")
def in_containers(repository, shared_small_project, know_base):
    """The locks of the images that the tests make, which are removed afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REPROKIT_CACHE")  # the base is known to the cache of the user
        know_base(shared_small_project.cache)
    used: set[str] = set()
    yield used
    with image_store.connected() as client:
        for one in image_store.images_with(client, image_store.CONTENT):
            if one.labels[image_store.LOCK] in used:
                client.images.remove(one.id, force=True)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_found_and_named_in_a_container(repository, in_containers, name):
    typed, metrics, kind, what = PLANTED[name]
    if name == "python":  # of those that a release of the distribution has
        typed, what = {"b_python": "3.13"}, "3.13"
    if name == "code":
        repository.write(settings_py="RATE = 0.3\n", train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
        repository.write(settings_py="RATE = 0.4\n")
    answer = compared(repository, backend="docker", **typed)
    in_containers |= {one.environment["lock"] for one in answer.sides.values()}
    must_name(answer, metrics, kind, what)
    assert {one.environment["backend"] for one in answer.sides.values()} == {"docker"}


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.emulator
def test_an_emulated_cpu_is_found_and_named_in_a_container(repository, in_containers):
    typed, *expected = CPU
    answer = compared(repository, backend="docker", **typed)
    in_containers |= {one.environment["lock"] for one in answer.sides.values()}
    must_name(answer, *expected)


@pytest.mark.slow
def test_where_there_are_cores_for_all_four_runs_both_sides_run_at_one_time(repository, monkeypatch):
    for module in (side_runs, environment):
        monkeypatch.setattr(module, "usable_cores", lambda: (0, 0, 0, 0))
    repository.write(
        settings_py="import time\ntime.sleep(2)\nRATE = 0.1\n", recipes__train__recipe_yaml=RECIPE
    )
    repository.write(settings_py="import time\ntime.sleep(2)\nRATE = 0.7\n")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert answer.answer is Word.DIFFERENT, answer.sentence
    records = {side: [runs.read(Path(run)).record for run in answer.sides[side].runs] for side in "ab"}
    began, ended = ({side: pick(records[side]) for side in "ab"} for pick in (_began, _ended))
    assert max(began.values()) < min(ended.values())


def _began(records):
    return min(record.started_at for record in records)


def _ended(records):
    return max(record.ended_at for record in records)
