"""No watch and no variation changes whether a healthy program runs, or what it answers.

The programs under ``healthy/`` use what real programs use: loaders with workers, managers, fork servers,
pools, pipes, sockets, databases, ranks. Here each runs under all variations at once; under ``slow`` under
every one of them alone.
"""

import shutil
import sys
from pathlib import Path

import pytest

from reprokit import variations
from reprokit.execution.local import LocalBackend
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.first_divergence import MEASURE, like
from reprokit.harness.diagnosing.inquiry import Investigation, all_held, under
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram, need
from reprokit.harness.diagnosing.taps.library import find_library
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.taps.seen import not_seen
from reprokit.harness.running.plan import plan_command
from reprokit.harness.running.varying.apply_variations import there

PROGRAMS = Path(__file__).parent / "healthy"
QUICK = sorted(path.stem for path in PROGRAMS.glob("*.py") if "torch" not in path.read_text())
SLOW = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in QUICK)
LIMIT_S = 120.0


class Silent:
    """Progress that no one watches."""

    def phase(self, name):
        """Nothing is shown."""

    def alive(self, run_label, seen, *, expected_s=None):
        """Nothing is shown."""

    def ended(self, run_label):
        """Nothing is shown."""

    def note(self, text):
        """Nothing is shown."""


@pytest.fixture
def laboratory(tmp_path):
    """A laboratory for a healthy program, in a folder whose path is as long as a socket's may be."""

    def of(name):
        folder = tmp_path / "a-folder-for-reports-with-a-name-of-some-length-as-people-give-them"
        shutil.copyfile(PROGRAMS / f"{name}.py", tmp_path / f"{name}.py")
        plan = plan_command(
            (sys.executable, f"{name}.py", "{run_dir}"),
            seed=0,
            repeats=1,
            stamp="20261120T102030Z-aaaa",
            working_dir=tmp_path,
            timeout_s=LIMIT_S,
        )
        return InstrumentedProgram(plan, folder=folder, backend=LocalBackend(), progress=Silent(), budget=60)

    return of


def bears(lab, chosen):
    first = need(lab.run("first", Conditions(progress=MEASURE)))
    second = need(lab.run("second", Conditions(progress=like(first))))
    assert lab.equal(first, second), lab.compare(first, second).divergence
    for some in chosen:
        varied = lab.run("varied", under(some, first))
        names = [one.name for one in some]
        assert not varied.trouble, f"{names}: {varied.trouble}\n{(varied.folder / 'stderr.log').read_text()}"
        assert lab.equal(first, varied), f"{names}: {lab.compare(first, varied).divergence}"
    held = lab.run("held", all_held(Investigation(lab=lab, first=first, other=second)))
    assert not held.trouble, f"held: {held.trouble}\n{(held.folder / 'stderr.log').read_text()}"


def made(lab, *, numbers=True):
    """All variations but those that round otherwise, or that this host cannot make."""
    found = variations.survey(there(lab.spec, folder=lab.apart)).made
    return [one for one in found if one.category != "nonportable_numerics" or numbers]


@pytest.mark.parametrize("name", QUICK)
def test_a_healthy_program_runs_under_all_variations_at_once_and_with_everything_held(laboratory, name):
    with laboratory(name) as lab:
        bears(lab, [made(lab)])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_healthy_training_runs_under_all_variations_at_once_and_with_everything_held(laboratory, name):
    with laboratory(name) as lab:
        bears(lab, [made(lab, numbers=False)])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_healthy_program_runs_under_every_variation(laboratory, name):
    with laboratory(name) as lab:
        bears(lab, [[one] for one in made(lab, numbers=False)])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = find_library(tmp_path_factory.mktemp("cache"))
    return found.path or pytest.skip(f"no native taps: {found.problem}")


def bears_taps(lab, library):
    """The same numbers with the taps in each of its processes, and with all that they hold held."""
    first = need(lab.run("first", Conditions(level="calls", calls={"mode": "off"})))
    for hold in ((), ("entropy", "clock", "threads")):
        taps = Taps(library=library, key="0f" * 16, now=1_700_000_000, hold=hold)
        tapped = need(lab.run("taps", Conditions(level="calls", calls={"mode": "off"}, taps=taps)))
        assert lab.equal(first, tapped), lab.compare(first, tapped).divergence
        assert not_seen(tapped) == ()


@pytest.mark.parametrize("name", QUICK)
def test_a_healthy_program_runs_with_the_native_taps_in_it(laboratory, library, name):
    with laboratory(name) as lab:
        bears_taps(lab, library)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_healthy_training_runs_with_the_native_taps_in_it(laboratory, library, name):
    with laboratory(name) as lab:
        bears_taps(lab, library)
