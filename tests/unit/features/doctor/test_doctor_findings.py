"""What the doctor says of hosts of many kinds, without being on one."""

from dataclasses import replace

import pytest

from reprokit.capture.gpus import GpuProcess, GpuState, GpuSurvey
from reprokit.execution.docker import EngineStatus
from reprokit.features.doctor.finding import FindingState
from reprokit.features.doctor.findings import examine, is_ready
from reprokit.features.doctor.host_facts import HostFacts

GIB = 1 << 30
HEALTHY = HostFacts(
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
    assert {finding.state for finding in examine(HEALTHY)} == {FindingState.OK, FindingState.ABSENT}
    assert [finding.fix for finding in examine(HEALTHY) if finding.fix] == []


LACKS = {
    "an old Python": (replace(HEALTHY, python=(3, 10)), "python", "uv python install"),
    "a Python that is too new": (replace(HEALTHY, python=(3, 16)), "python", "uv python install"),
    "locks that are broken": (replace(HEALTHY, locks={}, locks_problem="no hash"), "locks", "git checkout"),
    "a cache no one can write": (replace(HEALTHY, cache_problem="read-only"), "cache", "REPROKIT_CACHE"),
    "too little memory": (host(memory={"total_bytes": GIB}), "memory", "more"),
    "memory that no one could read": (host(memory={}), "memory", "more"),
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
    assert finding.state is FindingState.LACK
    assert fix in finding.fix
    assert not is_ready(examine(seen))


@pytest.mark.parametrize(("seen", "name", "fix"), WARNINGS.values(), ids=WARNINGS)
def test_what_makes_it_worse_is_a_warning_with_its_fix(seen, name, fix):
    finding = only(seen, name)
    assert finding.state is FindingState.WARNING
    assert fix in finding.fix
    assert is_ready(examine(seen))


def test_one_core_is_enough_but_slower():
    finding = only(cpu(usable=1), "cores")
    assert (finding.state, finding.detail) == (
        FindingState.WARNING,
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
    assert only(seen, "locks").state is FindingState.ABSENT
    assert is_ready(examine(seen))


def test_with_an_engine_the_locks_python_need_not_be_on_the_host():
    assert findings(replace(HEALTHY, pythons=("3.12",)), "locked Python") == []


def test_accelerators_are_named():
    seen = replace(
        host(gpus=[{"name": "NVIDIA H200", "driver": "580"}], tpu={"name": "v5e", "chips": 8}),
        programs={**HEALTHY.programs, "nvidia-ctk": "/n"},
    )
    seen = replace(seen, gpus=GpuSurvey(problem="nvidia-smi is not installed"))
    assert only(seen, "GPU").detail == "NVIDIA H200, driver 580"
    assert only(seen, "GPU state").state is FindingState.WARNING, "what is not known is not fine"
    assert only(seen, "TPU").detail == "v5e, 8 chips"
    assert (only(seen, "GPU in containers").state, only(seen, "GPU in containers").detail) == (
        FindingState.OK,
        "/n",
    )


def on_gpu(*, containers=True, **state):
    """A host with one GPU that nothing is wrong with but what is named."""
    found = GpuState(
        **{
            "index": 0,
            "uuid": "GPU-1",
            "name": "NVIDIA H200",
            "driver": "580.65.06",
            "mig": False,
            "uncorrected_errors": 0,
            "free_bytes": 139 * GIB,
            "total_bytes": 140 * GIB,
            **state,
        }
    )
    return replace(
        host(gpus=[{"name": found.name, "driver": found.driver}]),
        programs={**HEALTHY.programs, "nvidia-ctk": "/n" if containers else None},
        gpus=GpuSurvey(gpus=(found,)),
        minimum_driver="580.65.06",
    )


def test_a_gpu_that_nothing_is_wrong_with_needs_nothing():
    assert only(on_gpu(), "GPU").detail == "0: NVIDIA H200, driver 580.65.06, 139.0 of 140.0 GiB free"
    warned = [one.name for one in examine(on_gpu()) if one.state is FindingState.WARNING]
    assert not [name for name in warned if name.startswith("GPU")]


@pytest.mark.parametrize(
    ("state", "name", "says"),
    [
        ({"mig": True}, "GPU 0", "MIG is on"),
        ({"uncorrected_errors": 3}, "GPU 0", "3 uncorrected memory errors"),
        ({"slowed_by": ("its temperature",)}, "GPU 0", "held down by its temperature"),
        ({"processes": (GpuProcess(pid=7, name="python"),)}, "GPU 0", "python (process 7)"),
        ({"free_bytes": GIB}, "GPU 0", "1.0 GiB of its memory free"),
        ({"driver": "535.183.01"}, "GPU driver", "535.183.01 is older than 580.65.06"),
        ({"containers": False}, "GPU in containers", "neither the NVIDIA container toolkit nor a CDI"),
    ],
)
def test_what_is_wrong_with_a_gpu_is_a_warning_with_its_fix(state, name, says):
    found = only(on_gpu(**state), name)
    assert found.state is FindingState.WARNING
    assert says in found.detail
    assert found.fix
    assert is_ready(examine(on_gpu(**state))), "recipes for the CPU can be reproduced all the same"


def test_a_cdi_specification_is_enough_for_containers():
    seen = replace(on_gpu(containers=False), cdi=("/etc/cdi/nvidia.yaml",))
    assert only(seen, "GPU in containers").detail == "by CDI: /etc/cdi/nvidia.yaml"


def test_no_gpu_says_why_none_was_found():
    assert (only(HEALTHY, "GPU").state, only(HEALTHY, "GPU").detail) == (FindingState.ABSENT, "no driver")


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
    assert finding.state is FindingState.WARNING
    assert "reprokit-ml 2.0" in finding.detail
    assert finding.fix == ("pip uninstall --yes reprokit-ml && pip install --force-reinstall reprokit-verify")
    assert findings(HEALTHY, "distribution") == []


def test_make_is_no_concern_where_its_makefile_is_not():
    without = replace(HEALTHY, programs={**HEALTHY.programs, "make": None})
    assert only(without, "make").state is FindingState.WARNING
    assert findings(replace(without, has_make=False), "make") == []


def test_the_cache_says_how_much_it_holds():
    finding = only(replace(HEALTHY, held={"wheels": 3 * GIB, "debs": 1000}), "cache")
    assert "holds wheels 3.0 GiB (`reprokit image prune`" in finding.detail
    assert "debs" not in finding.detail
