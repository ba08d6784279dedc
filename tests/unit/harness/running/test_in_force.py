"""A variation counts where the run's own processes show it, and nowhere else."""

import pytest

from reprokit.harness.running.varying.in_force import conditions_of, expected_of, why_not_in_force
from reprokit.variations import Variation

ABOUT = {"category": "environment", "fix": "none"}
ZONE = Variation(**ABOUT, environment={"TZ": "Etc/GMT+12"}, shows={"utc_offset_s": (-43200,)})
CPU = Variation(**ABOUT, cpu="Haswell", differs=("cpu",))
CLOCK = Variation(**ABOUT, vary=("clock",))
HOME = Variation(**ABOUT, environment={"HOME": "{mounts}/../e/h"})


def seen(**conditions):
    return {"varies": [], "variables": {}, **conditions}


@pytest.mark.parametrize(
    ("one", "shown", "before", "why"),
    [
        (ZONE, seen(variables={"TZ": "Etc/GMT+12"}, utc_offset_s=-43200), {}, ""),
        (ZONE, seen(variables={"TZ": "Etc/GMT+12"}, utc_offset_s=0), {}, "utc offset s was 0, not -43200"),
        (ZONE, seen(utc_offset_s=-43200), {}, "the variable TZ was None, not 'Etc/GMT+12'"),
        (CPU, seen(cpu="Haswell"), {"0": seen(cpu="EPYC")}, ""),
        (CPU, seen(cpu="EPYC"), {"0": seen(cpu="EPYC")}, "cpu was the same as without it: EPYC"),
        (CPU, seen(cpu=None), {"0": seen(cpu="EPYC")}, "cpu could not be read there"),
        (CLOCK, seen(varies=["clock"]), {}, ""),
        (CLOCK, seen(), {}, "the hook had no orders for it"),
        (HOME, seen(variables={"HOME": "/tmp/x/mounts/../e/h"}), {}, ""),
        (HOME, seen(variables={"HOME": "/root"}), {}, "the variable HOME was '/root', not '{mounts}/../e/h'"),
    ],
)
def test_what_the_process_recorded_decides(one, shown, before, why):
    told = why_not_in_force(expected_of(one), {"0": shown}, before=before)
    assert told == (f"it was not in force in the program: {why}" if why else "")


def test_a_run_that_recorded_nothing_shows_nothing():
    assert "the hook was not loaded" in why_not_in_force(expected_of(ZONE), {}, before={})


def test_what_the_program_starts_may_choose_for_itself_but_must_be_emulated_too():
    zones = {
        "0": seen(variables={"TZ": "Etc/GMT+12"}, utc_offset_s=-43200),
        "0.s0": seen(variables={"TZ": "UTC"}, utc_offset_s=0),
    }
    assert why_not_in_force(expected_of(ZONE), zones, before={}) == ""
    cpus = {"0": seen(cpu="Haswell"), "0.s0": seen(cpu="EPYC")}
    told = why_not_in_force(expected_of(CPU), cpus, before={"0": seen(cpu="EPYC")})
    assert told == (
        "it was not in force in process 0.s0 of the program: cpu was the same as without it: EPYC"
    )


def test_conditions_are_told_from_other_facts_of_a_trace():
    assert conditions_of({"conditions 0": {"umask": "022"}, "limits 0": {}, "conditions 1": 3}) == {
        "0": {"umask": "022"}
    }
