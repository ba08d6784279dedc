"""What goes into the numerics fingerprint, what stays out, and how two records are told apart."""

import copy
import json

import pytest

from reprokit.capture import environment_diff
from reprokit.core import fingerprint, numerics

RECORD = {
    "schema": 1,
    "inside": {
        "schema": 1,
        "python": {
            "implementation": "CPython",
            "version": "3.11.2",
            "minor": "3.11",
            "compiler": "GCC 12.2.0",
        },
        "os": {"system": "Linux", "name": "Debian GNU/Linux 12 (bookworm)"},
        "libc": {"name": "glibc", "version": "2.36"},
        "packages": {"numpy": "2.4.6", "torch": "2.13.0+cpu", "farama-notifications": "0.0.6", "pip": "23.0"},
        "sources": {},
        "variables": {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "MKL_CBWR": "COMPATIBLE"},
        "cpu": {"architecture": "x86_64", "avx2": True, "avx512f": True, "source": "torch"},
        "numpy": {
            "version": "2.4.6",
            "cpu_features": {"baseline": ["X86_V2"], "in_force": ["X86_V3"], "not_in_force": ["X86_V4"]},
            "blas": {"name": "scipy-openblas", "version": "0.3.31"},
            "openblas": {"core": "Haswell", "threads": 1},
        },
        "torch": {
            "version": "2.13.0+cpu",
            "git_version": "cf30153c",
            "cpu_capability": "AVX2",
            "threads": 1,
            "interop_threads": 1,
            "mkl_cbwr": "COMPATIBLE",
            "mkl": "2024.2",
            "build": {"BLAS_INFO": "mkl"},
            "flags": {"deterministic_algorithms": True, "float32_matmul_precision": "highest"},
            "cuda_flags": {"cudnn_benchmark": False},
        },
        "numerics": {"profile": "portable", "version": 1, "requested": {}, "in_force": {}},
        "device": {"kind": "cpu"},
    },
    "host": {
        "os": {"system": "Linux", "name": "Debian"},
        "kernel": "6.1.0",
        "libc": {"name": "glibc", "version": "2.36"},
        "cpu": {
            "architecture": "x86_64",
            "model": "EPYC 7B13",
            "vendor": "AuthenticAMD",
            "features": ["avx2", "avx512f", "sse4_2"],
            "physical": 2,
            "logical": 2,
        },
        "memory": {"total_bytes": 8},
        "gpus": [],
        "tool": {"version": "0.1.0", "python": "3.11.7"},
    },
    "source": {"commit": "abc", "dirty": False},
    "image": {"kind": "image", "digest": "sha256:1", "lock_digest": "sha256:2"},
    "limits": {"pids": 512},
    "missing": {},
}


def record(**changes):
    """The record above with dotted paths (dots written as __) set to other values."""
    changed = copy.deepcopy(RECORD)
    for path, value in changes.items():
        *parents, last = path.split("__")
        section = changed
        for name in parents:
            section = section.setdefault(name, {})
        section[last] = value
    return changed


def on_gpu(**changes):
    device = {"kind": "cuda", "name": "NVIDIA H200", "driver": "580.65", "cuda": "13.0", "cudnn": 91300}
    device |= {"compute_capability": "9.0", "multiprocessors": 132}
    return record(inside__device=device, **changes)


NATIVE = {"inside__numerics__profile": "native"}

CHANGES_IT = {
    "a package that computes": {"inside__packages__numpy": "2.4.7"},
    "any other package of the lock": {"inside__packages__farama-notifications": "0.0.7"},
    "a package that was added": {"inside__packages__extra": "1.0"},
    "the C library": {"inside__libc__version": "2.41"},
    "the architecture": {"inside__cpu__architecture": "aarch64"},
    "a CPU without AVX2": {"inside__cpu__avx2": False},
    "the profile": NATIVE,
    "the profile's version": {"inside__numerics__version": 2},
    "the number of threads": {"inside__torch__threads": 2},
    "the vector kernels in force": {"inside__torch__cpu_capability": "AVX512"},
    "the MKL branch in force": {"inside__torch__mkl_cbwr": "OFF"},
    "numpy's kernels in force": {"inside__numpy__cpu_features__in_force": ["X86_V3", "X86_V4"]},
    "OpenBLAS's core type": {"inside__numpy__openblas__core": "SkylakeX"},
    "the build of torch": {"inside__torch__git_version": "other"},
    "a deterministic flag": {"inside__torch__flags__deterministic_algorithms": False},
    "the hash seed": {"inside__variables__PYTHONHASHSEED": "1"},
    "Python's minor version": {"inside__python__minor": "3.12"},
    "a Python without the GIL": {"inside__python__free_threaded": True},
    "the device": {"inside__device__kind": "xla-cpu"},
}

STAYS_OUT = {
    "whether the GIL is on": {"inside__python__gil": True},
    "Python's patch level": {"inside__python__version": "3.11.7", "inside__python__compiler": "GCC 14"},
    "the image's digest": {"image__digest": "sha256:3", "image__kind": "venv"},
    "the CPU's model": {"host__cpu__model": "Xeon", "host__cpu__vendor": "GenuineIntel"},
    "the CPU's features": {"host__cpu__features": ["avx2"], "inside__cpu__avx512f": False},
    "the kernel": {"host__kernel": "6.18"},
    "the host": {"host__os__name": "Fedora", "host__memory__total_bytes": 9, "host__cpu__logical": 64},
    "the host's C library": {"host__libc__version": "2.41"},
    "the source": {"source__commit": "def", "source__dirty": True},
    "the limits": {"limits__pids": 64},
    "pip": {"inside__packages__pip": "26.0"},
    "setuptools and wheel": {"inside__packages__setuptools": "80", "inside__packages__wheel": "1"},
    "the tool": {"inside__packages__reprokit": "9", "host__tool__version": "9"},
    "a wish": {"inside__variables__OMP_NUM_THREADS": "4", "inside__numerics__requested": {"A": "b"}},
    "a GPU that was not used": {"host__gpus": [{"name": "H200", "driver": "1"}]},
    "settings of CUDA on a CPU": {"inside__torch__cuda_flags__cudnn_benchmark": True},
    "what is missing": {"missing": {"host.gpus": "none"}},
}


@pytest.mark.parametrize("change", CHANGES_IT.values(), ids=CHANGES_IT)
def test_a_fact_that_can_change_numbers_changes_the_fingerprint(change):
    assert fingerprint.fingerprint(record(**change)) != fingerprint.fingerprint(RECORD)
    assert not fingerprint.same(RECORD, record(**change))


@pytest.mark.parametrize("change", STAYS_OUT.values(), ids=STAYS_OUT)
def test_a_fact_that_cannot_change_numbers_stays_out(change):
    assert record(**change) != RECORD
    assert fingerprint.same(RECORD, record(**change))


@pytest.mark.parametrize("change", [*CHANGES_IT.values(), *STAYS_OUT.values()])
def test_the_difference_names_what_can_change_numbers_exactly_when_the_fingerprints_differ(change):
    other = record(**change)
    can = [entry for entry in environment_diff.diff(RECORD, other) if entry["can_change_numbers"] != "no"]
    assert bool(can) is not fingerprint.same(RECORD, other)


@pytest.mark.parametrize(
    "change",
    [
        {"host__cpu__model": "Xeon"},
        {"host__cpu__features": ["avx2"]},
        {"inside__cpu__avx512f": False},
    ],
)
def test_under_the_native_profile_the_cpu_counts(change):
    assert not fingerprint.same(record(**NATIVE), record(**NATIVE, **change))


def test_a_record_that_names_no_profile_is_held_to_be_native():
    plain = record(inside__numerics={})
    other = copy.deepcopy(plain)
    other["host"]["cpu"]["model"] = "Xeon"
    assert not fingerprint.same(plain, other)


def test_a_new_kernel_that_lists_more_features_of_one_cpu_changes_nothing():
    before = record(**NATIVE)
    after = record(**NATIVE, host__cpu__features=["avx2", "avx512f", "ibpb", "md_clear", "sse4_2"])
    assert fingerprint.same(before, after)
    assert environment_diff.diff(before, after)[0]["can_change_numbers"] == "no"


@pytest.mark.parametrize(
    "path",
    [
        *(f"inside__device__{name}" for name in numerics.CUDA_FACTS),
        "inside__torch__version",
        "inside__torch__git_version",
    ],
)
def test_on_a_gpu_the_gpu_its_driver_and_its_libraries_count(path):
    changed = on_gpu()
    *parents, last = path.split("__")
    changed[parents[0]][parents[1]][last] = "other"
    assert not fingerprint.same(on_gpu(), changed)


@pytest.mark.parametrize(
    "change", [{"name": "v6e-8"}, {"torch_xla": "2.10.0"}, {"count": 4}, {"kind": "xla-cpu"}], ids=str
)
def test_on_a_tpu_its_generation_compiler_and_number_count(change):
    tpu = {"kind": "tpu", "name": "v5litepod-8", "torch_xla": "2.9.0", "count": 8}
    before, after = record(inside__device=tpu), record(inside__device={**tpu, **change})
    assert not fingerprint.same(before, after)


@pytest.mark.parametrize(
    "name", ["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA H200 MIG 1g.18gb"]
)
def test_goldens_of_one_gpu_are_not_those_of_another_of_its_generation(name):
    other = on_gpu()
    other["inside"]["device"]["name"] = name
    assert fingerprint.platform_of(other) != fingerprint.platform_of(on_gpu()) == "cuda-h200"


def test_on_a_gpu_cuda_settings_count():
    assert not fingerprint.same(on_gpu(), on_gpu(inside__torch__cuda_flags__cudnn_benchmark=True))
    assert not fingerprint.same(on_gpu(), on_gpu(inside__variables__CUBLAS_WORKSPACE_CONFIG=":16:8"))


def test_how_much_memory_a_gpu_has_does_not_count():
    small, large = on_gpu(), on_gpu()
    large["inside"]["device"]["memory_bytes"] = 1
    assert fingerprint.same(small, large)


def test_differences_that_can_change_numbers_come_first_with_their_reasons():
    other = record(host__kernel="6.18", inside__python__minor="3.12", inside__torch__threads=2)
    found = environment_diff.diff(RECORD, other)
    assert [entry["can_change_numbers"] for entry in found] == ["yes", "maybe", "no"]
    assert [entry["field"] for entry in found] == [
        "inside.torch.threads",
        "inside.python.minor",
        "host.kernel",
    ]
    assert (found[0]["expected"], found[0]["actual"]) == (1, 2)
    assert all(entry["why"] for entry in found)


def test_a_list_shows_only_what_the_other_side_lacks():
    other = record(inside__numpy__cpu_features__in_force=["X86_V3", "X86_V4"])
    entry = environment_diff.diff(RECORD, other)[0]
    assert (entry["expected"], entry["actual"]) == ([], ["X86_V4"])


def test_a_list_in_another_order_is_shown_whole():
    left = record(inside__numpy__cpu_features__in_force=["A", "B"])
    right = record(inside__numpy__cpu_features__in_force=["B", "A"])
    assert environment_diff.diff(left, right)[0]["actual"] == ["B", "A"]


def test_what_one_record_lacks_is_a_difference_with_the_reason_for_the_lack():
    other = record(missing={"inside.torch.mkl_cbwr": "no such library"})
    del other["inside"]["torch"]["mkl_cbwr"]
    entry = environment_diff.diff(RECORD, other)[0]
    assert entry["field"] == "inside.torch.mkl_cbwr"
    assert entry["actual"] is None
    assert "missing from the actual record: no such library" in entry["why"]
    assert not fingerprint.same(RECORD, other)


def test_a_recorded_null_is_the_same_as_nothing():
    assert environment_diff.diff(RECORD, record(inside__torch__cudnn=None)) == []
    assert fingerprint.same(RECORD, record(inside__torch__cudnn=None))


def test_under_the_portable_profile_the_cpu_is_listed_with_the_reason_why_it_does_not_count():
    entry = environment_diff.diff(RECORD, record(host__cpu__model="Xeon"))[0]
    assert entry["can_change_numbers"] == "no"
    assert "portable" in entry["why"]


def test_numbers_are_compared_as_json_numbers_and_truth_values_are_none():
    assert fingerprint.same(RECORD, record(inside__torch__threads=1.0))
    assert not fingerprint.same(RECORD, record(inside__torch__threads=True))


def test_a_number_that_json_lacks_does_not_break_the_digest():
    strange = record(inside__torch__threads=float("nan"))
    assert fingerprint.same(strange, copy.deepcopy(strange))
    assert environment_diff.diff(strange, copy.deepcopy(strange)) == []


def test_a_record_survives_being_written_as_json():
    assert fingerprint.same(RECORD, json.loads(json.dumps(RECORD)))


def test_an_unknown_fact_from_inside_counts_until_somebody_says_that_it_does_not():
    entry = environment_diff.diff(RECORD, record(inside__new_library__mode="fast"))[0]
    assert entry["can_change_numbers"] == "maybe"
    assert not fingerprint.same(RECORD, record(inside__new_library__mode="fast"))


def test_an_unknown_fact_from_outside_does_not_count():
    assert fingerprint.same(RECORD, record(host__new_thing="x", other="y"))


def test_equal_records_do_not_differ():
    assert environment_diff.diff(RECORD, copy.deepcopy(RECORD)) == []


@pytest.mark.parametrize(
    "broken", [{}, {"inside": None}, {"inside": {"cpu": None}, "host": []}, {"inside": []}]
)
def test_a_broken_record_is_unknown_and_like_nothing_else(broken):
    assert fingerprint.platform_of(broken) == "unknown"
    assert not fingerprint.same(broken, RECORD)
    assert environment_diff.diff(broken, RECORD)


@pytest.mark.parametrize(
    ("environment", "platform"),
    [
        (RECORD, "cpu-x86_64"),
        (record(inside__cpu__avx2=False), "cpu-x86_64-noavx2"),
        (record(inside__cpu={"architecture": "aarch64"}), "cpu-aarch64"),
        (
            record(inside__cpu={"architecture": "aarch64"}, inside__os={"system": "Darwin"}),
            "cpu-aarch64-darwin",
        ),
        (on_gpu(), "cuda-h200"),
        (record(inside__device={"kind": "cuda", "name": "NVIDIA A100-SXM4-80GB"}), "cuda-a100-sxm4-80gb"),
        (record(inside__device={"kind": "cuda"}), "cuda-unknown"),
        (record(inside__device={"kind": "tpu", "name": "v5litepod-8"}), "tpu-v5litepod-8"),
        (record(inside__device={"kind": "xla-cpu"}), "xla-cpu"),
        ({"host": RECORD["host"]}, "cpu-x86_64"),
        ({"host": {"cpu": {"architecture": "x86_64", "features": ["sse2"]}}}, "cpu-x86_64-noavx2"),
        ({"host": {"cpu": {"architecture": "x86_64"}}}, "cpu-x86_64-unknown"),
    ],
)
def test_the_platform_is_read_from_the_record(environment, platform):
    assert fingerprint.platform_of(environment) == platform


def test_what_the_training_saw_of_the_cpu_outranks_what_the_host_has():
    assert fingerprint.platform_of(record(inside__cpu__avx2=False)) == "cpu-x86_64-noavx2"
    assert fingerprint.platform_of(record(inside__cpu={})) == "cpu-x86_64"


def test_a_host_with_accelerators_is_several_platforms():
    gpu = {"name": "NVIDIA H200", "driver": "580"}
    host = {**RECORD["host"], "gpus": [gpu, gpu], "tpu": {"name": "v5e", "chips": 8}}
    assert fingerprint.platforms_of_host(host) == ("cpu-x86_64", "cuda-h200", "tpu-v5e")
    assert fingerprint.platforms_of_host(RECORD["host"]) == ("cpu-x86_64",)
