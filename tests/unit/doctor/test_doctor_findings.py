"""What the doctor says of hosts of many kinds, without being on one."""

from dataclasses import replace

import pytest

from reprokit.doctor import State, Surroundings, examine, is_ready
from reprokit.execution.docker import EngineStatus

GIB = 1 << 30
HEALTHY = Surroundings(
    host={
        "os": {"system": "Linux"},
        "cpu": {"architecture": "x86_64", "model": "EPYC", "features": ["avx2", "avx512f"], "usable": 8},
        "memory": {"total_bytes": 16 * GIB},
        "disk": {"free_bytes": 100 * GIB},
        "gpus": [],
        "tpu": None,
        "missing": {"gpus": "no driver"},
    },
    engine=EngineStatus(
        reachable=True,
        version="29.5.1",
        api_version="1.50",
        storage_driver="overlay2",
        cgroup_version="2",
        security_options=("seccomp", "apparmor"),
    ),
    programs={
        "git": "/g",
        "make": "/m",
        "mmdebstrap": "/d",
        "qemu-x86_64": "/q",
        "nvidia-ctk": None,
        "ssh-keygen": "/s",
    },
    python=(3, 11),
    locks={"cpu": 14},
    locks_problem="",
    lock_pythons={"cpu": "3.11"},
    pythons=("3.11",),
    cache="/cache",
    cache_problem="",
)
NO_ENGINE = EngineStatus(reachable=False, error="no socket", remedy="sudo systemctl start docker")


def host(**changes):
    return replace(HEALTHY, host={**HEALTHY.host, **changes})


def cpu(**changes):
    return host(cpu={**HEALTHY.host["cpu"], **changes})


def findings(seen, name):
    return [finding for finding in examine(seen) if finding.name == name]


def only(seen, name):
    (finding,) = findings(seen, name)
    return finding


def test_a_healthy_host_is_ready_and_nothing_needs_fixing():
    assert is_ready(examine(HEALTHY))
    assert {finding.state for finding in examine(HEALTHY)} == {State.OK, State.ABSENT}
    assert [finding.fix for finding in examine(HEALTHY) if finding.fix] == []


LACKS = {
    "an old Python": (replace(HEALTHY, python=(3, 10)), "python", "uv python install"),
    "a Python that is too new": (replace(HEALTHY, python=(3, 14)), "python", "uv python install"),
    "locks that are broken": (replace(HEALTHY, locks={}, locks_problem="no hash"), "locks", "git checkout"),
    "a cache nobody can write": (replace(HEALTHY, cache_problem="read-only"), "cache", "REPROKIT_CACHE"),
    "too little memory": (host(memory={"total_bytes": GIB}), "memory", "more"),
    "memory that nobody could read": (host(memory={}), "memory", "more"),
    "too little disk": (host(disk={"free_bytes": GIB}), "disk", "prune"),
    "no engine on a Mac": (
        replace(host(os={"system": "Darwin"}), engine=NO_ENGINE),
        "container engine",
        "systemctl",
    ),
}
WARNINGS = {
    "no git": (replace(HEALTHY, programs={**HEALTHY.programs, "git": None}), "git", "apt-get install git"),
    "no make": (replace(HEALTHY, programs={**HEALTHY.programs, "make": None}), "make", "get install make"),
    "no engine on Linux": (replace(HEALTHY, engine=NO_ENGINE), "container engine", "systemctl start"),
    "an engine with escapes": (
        replace(HEALTHY, engine=replace(HEALTHY.engine, version="28.0.0")),
        "engine security",
        "29.5.1",
    ),
    "an engine without seccomp": (
        replace(HEALTHY, engine=replace(HEALTHY.engine, security_options=("name=apparmor",))),
        "engine security",
        "SECCOMP",
    ),
    "another Python than the lock's": (
        replace(HEALTHY, engine=NO_ENGINE, pythons=("3.12",)),
        "locked Python",
        "uv python install 3.11",
    ),
    "a CPU without AVX2": (cpu(features=["sse2"]), "CPU", "golden promote"),
    "another architecture": (cpu(architecture="aarch64", features=["asimd"]), "CPU", "golden promote"),
    "little memory": (host(memory={"total_bytes": 3 * GIB}), "memory", "more"),
    "little disk": (host(disk={"free_bytes": 5 * GIB}), "disk", "prune"),
    "a GPU that containers cannot see": (host(gpus=[{"name": "H200"}]), "GPU in containers", "nvidia-ctk"),
}


@pytest.mark.parametrize(("seen", "name", "fix"), LACKS.values(), ids=LACKS)
def test_what_makes_training_impossible_is_a_lack_with_its_fix(seen, name, fix):
    finding = only(seen, name)
    assert finding.state is State.LACK
    assert fix in finding.fix
    assert not is_ready(examine(seen))


@pytest.mark.parametrize(("seen", "name", "fix"), WARNINGS.values(), ids=WARNINGS)
def test_what_makes_it_worse_is_a_warning_with_its_fix(seen, name, fix):
    finding = only(seen, name)
    assert finding.state is State.WARNING
    assert fix in finding.fix
    assert is_ready(examine(seen))


def test_one_core_is_enough_but_slower():
    finding = only(cpu(usable=1), "cores")
    assert (finding.state, finding.detail) == (
        State.WARNING,
        "1 usable: the two runs are made one after the other",
    )


def test_every_escape_is_listed_with_its_advisory():
    seen = replace(HEALTHY, engine=replace(HEALTHY.engine, version="20.10.24+dfsg1"))
    finding = only(seen, "engine security")
    assert len(finding.notes) == 3
    assert all("CVE-" in note and "https://" in note for note in finding.notes)
    assert "apt changelog" in finding.fix


def test_an_engine_from_its_maker_is_not_excused_by_a_distribution():
    seen = replace(HEALTHY, engine=replace(HEALTHY.engine, version="28.0.0"))
    assert "distribution" not in only(seen, "engine security").fix


def test_a_folder_without_locks_is_no_lack():
    seen = replace(HEALTHY, locks={}, lock_pythons={})
    assert only(seen, "locks").state is State.ABSENT
    assert is_ready(examine(seen))


def test_with_an_engine_the_locks_python_need_not_be_on_the_host():
    assert findings(replace(HEALTHY, pythons=("3.12",)), "locked Python") == []


def test_accelerators_are_named():
    seen = replace(
        host(gpus=[{"name": "NVIDIA H200", "driver": "580"}], tpu={"name": "v5e", "chips": 8}),
        programs={**HEALTHY.programs, "nvidia-ctk": "/n"},
    )
    assert only(seen, "GPU").detail == "NVIDIA H200, driver 580"
    assert only(seen, "TPU").detail == "v5e, 8 chips"
    assert findings(seen, "GPU in containers") == []


def test_no_gpu_says_why_none_was_found():
    assert (only(HEALTHY, "GPU").state, only(HEALTHY, "GPU").detail) == (State.ABSENT, "no driver")


def test_tools_for_special_tasks_are_absent_not_lacking():
    seen = replace(HEALTHY, programs={})
    assert only(seen, "base images without a registry").fix == "sudo apt-get install mmdebstrap"
    assert only(seen, "emulated CPUs").fix == "sudo apt-get install qemu-user"
    assert only(seen, "signed reports").fix == "sudo apt-get install openssh-client"
    assert is_ready(examine(seen))
    assert findings(replace(seen, engine=NO_ENGINE), "base images without a registry") == []


def test_on_a_mac_things_are_installed_its_own_way():
    seen = replace(host(os={"system": "Darwin"}), programs={})
    assert only(seen, "git").fix == "brew install git"


def test_another_projects_distribution_of_nearly_the_same_name_is_named_with_the_way_out():
    finding = only(replace(HEALTHY, others=("reprokit-ml 2.0",)), "distribution")
    assert finding.state is State.WARNING
    assert "reprokit-ml 2.0" in finding.detail
    assert finding.fix == ("pip uninstall --yes reprokit-ml && pip install --force-reinstall reprokit-verify")
    assert findings(HEALTHY, "distribution") == []


def test_make_is_no_concern_where_its_makefile_is_not():
    without = replace(HEALTHY, programs={**HEALTHY.programs, "make": None})
    assert only(without, "make").state is State.WARNING
    assert findings(replace(without, has_make=False), "make") == []


def test_the_cache_says_how_much_it_holds():
    finding = only(replace(HEALTHY, held={"wheels": 3 * GIB, "debs": 1000}), "cache")
    assert "holds wheels 3.0 GiB (`reprokit image prune`" in finding.detail
    assert "debs" not in finding.detail
