"""What holds for every variation, whoever adds one: the table is the only list."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import variations
from reprokit.diagnosis import category_of
from reprokit.execution import varied_start
from reprokit.variations import RunPlace, Variation, VariationNotMade, survey
from reprokit.variations.catalogue import CATALOGUE

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "find-the-cause.md"
HERE = RunPlace(
    container=False,
    folder="/tmp/x",
    cores=(0, 1),
    environment={"PYTHONHASHSEED": "0"},
    device="cpu",
    num_gpus=2,
    emulator="/usr/bin/qemu-x86_64",
    network=True,
)
CONTAINER = replace(HERE, container=True, network=None)
BARE = RunPlace(container=False, folder="/tmp/x")
NAMED = (
    "hash_seed",
    "host_name",
    "user_and_home",
    "working_folder",
    "run_folder",
    "time_zone",
    "locale",
    "cpu_count",
    "cpu_affinity",
    "threads",
    "cpu_model",
    "clock",
    "umask",
    "environment_noise",
    "directory_order",
    "memory_pattern",
    "address_layout",
    "process_id",
    "network",
    "load",
    "leftovers",
    "gpu_index",
)


def made(there, name):
    found = survey(there, only=(name,))
    return (*found.made, *found.unmade)[0]


def test_every_name_is_listed_once():
    assert len(variations.names()) == len(set(variations.names()))
    assert set(NAMED) <= set(variations.names())


@pytest.mark.parametrize("name", variations.names())
@pytest.mark.parametrize("there", [HERE, CONTAINER, BARE], ids=["here", "container", "bare"])
def test_a_variation_is_made_or_says_why_it_is_not(name, there):
    found = made(there, name)
    assert found.name == name
    assert found.says
    if isinstance(found, VariationNotMade):
        assert found.why
        assert not found.why.endswith(".")
        return
    assert found.category in {category_of(kind) for kind in _KINDS} | {
        "nonportable_numerics",
        "leftover_state",
    }
    assert found.fix
    changes = found.vary or found.environment or found.run_folder or found.start or found.cpu
    assert changes or name == "leftovers"


_KINDS = (
    "unseeded",
    "set_order",
    "clock",
    "environment",
    "directory_order",
    "completion_order",
    "process_id",
    "unwritten",
)


@pytest.mark.parametrize("name", variations.names())
def test_everything_that_is_named_can_be_made_somewhere(name):
    assert isinstance(made(HERE, name), Variation)


@pytest.mark.parametrize(
    ("name", "there", "held"),
    [
        ("hash_seed", replace(HERE, environment={}), True),
        ("run_folder", CONTAINER, True),
        ("network", CONTAINER, True),
        ("network", replace(HERE, network=False), False),
        ("address_layout", CONTAINER, False),
        ("cpu_affinity", replace(HERE, cores=(0,)), False),
        ("load", replace(HERE, cores=(0,)), False),
        ("gpu_index", replace(HERE, num_gpus=1), False),
        ("cpu_model", replace(HERE, emulator="", no_emulator="none is installed"), False),
        ("cpu_model", replace(HERE, device="cuda"), False),
    ],
)
def test_what_cannot_be_varied_there_is_never_made(name, there, held):
    found = made(there, name)
    assert isinstance(found, VariationNotMade)
    assert found.held is held


@pytest.mark.parametrize(
    ("pinned", "cores"), [((), [HERE.cores[-1]]), ((0,), list(HERE.cores)), ((0, 1), [HERE.cores[-1]])]
)
def test_the_number_of_cores_is_another_than_that_of_the_runs_it_is_compared_to(pinned, cores):
    assert made(replace(HERE, pinned=pinned), "cpu_affinity").shows == {"cores": (cores,)}


@pytest.mark.parametrize("usual", range(2, 9))
def test_the_cores_that_a_program_sees_are_another_number_where_all_conditions_vary_at_once(usual):
    """The program is told of three cores more than it may run on: :mod:`reprokit_hook.system_values`."""
    (cores,) = made(replace(HERE, cores=tuple(range(usual)), pinned=()), "cpu_affinity").shows["cores"]
    assert 0 < len(cores) < usual
    assert len(cores) + 3 != usual


def test_what_takes_long_is_made_only_where_it_is_named():
    assert "cpu_model" in {one.name for one in survey(HERE).unmade}
    assert [one.name for one in survey(HERE, only=("cpu_model",)).made] == ["cpu_model"]


def test_a_survey_leaves_nothing_out():
    found = survey(BARE)
    told = [one.name for one in (*found.made, *found.unmade)]
    assert sorted(told) == sorted(variations.names())


def test_every_word_for_the_starter_is_one_that_it_knows():
    source = Path(varied_start.__file__).read_text(encoding="utf-8")
    for row in CATALOGUE:
        found = row.vary(HERE)
        words = [word for word in getattr(found, "start", ()) if word.startswith("--")]
        assert all(f'"{word}"' in source for word in words)


def test_the_guide_has_a_line_for_every_variation():
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(variations.names()) <= rows


def test_threads_that_a_profile_fixes_are_varied_only_where_they_are_named():
    fixed = replace(HERE, environment={"REPROKIT_NUMERICS": "portable", "OMP_NUM_THREADS": "1"})
    assert "threads" in {one.name for one in survey(fixed).unmade}
    assert survey(fixed, only=("threads",)).made[0].environment["OMP_NUM_THREADS"] == "2"
    assert "threads" in {one.name for one in survey(HERE).made}


@pytest.mark.parametrize(
    ("cores", "pinned", "number"), [((0, 1), (), "1"), ((0, 1), (1,), "2"), ((0,), (), "2")]
)
def test_where_a_run_has_one_core_two_threads_are_the_other_number(cores, pinned, number):
    there = replace(HERE, cores=cores, pinned=pinned, environment={})
    made = survey(there, only=("threads",)).made[0]
    assert made.environment["OMP_NUM_THREADS"] == number
    assert made.all_cores == bool(pinned)


@pytest.mark.parametrize(("used", "order"), [(0, "2,1,0"), (2, "1,0,2")])
def test_another_gpu_computes_and_all_of_them_stand_in_another_order(used, order):
    made_of = made(replace(HERE, num_gpus=3, gpu=used), "gpu_index")
    assert made_of.environment["CUDA_VISIBLE_DEVICES"] == order
    assert made_of.environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
