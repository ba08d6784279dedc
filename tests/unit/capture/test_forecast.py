"""What can be said of a run here before it runs."""

import copy

from reprokit.capture.forecast import forecast

HOST = {
    "cpu": {"architecture": "x86_64", "model": "EPYC", "features": ["avx2", "avx512f"]},
    "gpus": [],
    "tpu": None,
}
EXPECTED = {
    "inside": {
        "packages": {"numpy": "2.4.6", "torch": "2.13.0+cpu", "pip": "1"},
        "python": {"implementation": "CPython", "minor": "3.11"},
        "libc": {"name": "glibc", "version": "2.36"},
        "cpu": {"architecture": "x86_64", "avx2": True, "avx512f": False},
        "torch": {"version": "2.13.0+cpu", "threads": 1, "mkl_cbwr": "COMPATIBLE"},
        "numpy": {"version": "2.4.6", "openblas": {"core": "Haswell", "threads": 1}},
        "numerics": {"profile": "portable", "version": 1},
        "device": {"kind": "cpu"},
    },
    "host": {"cpu": {"architecture": "x86_64", "model": "Xeon", "features": ["avx2"]}},
}
LOCKED = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "setuptools": "80"}


def changed(record, path, value):
    result = copy.deepcopy(record)
    *parents, last = path.split(".")
    section = result
    for name in parents:
        section = section[name]
    section[last] = value
    return result


def fields(answer):
    return [entry["field"] for entry in answer.differences]


def test_the_same_lock_on_another_cpu_matches_under_the_portable_profile():
    answer = forecast(EXPECTED, host=HOST, packages=LOCKED, python="3.11")
    assert answer.differences == ()
    assert answer.same_platform
    assert {"inside.cpu.avx2", "inside.packages.numpy", "inside.python.minor"} <= set(answer.matches)


def test_what_only_a_run_can_tell_is_said_to_be_open():
    answer = forecast(EXPECTED, host=HOST, packages=LOCKED)
    assert {"inside.torch.threads", "inside.torch.mkl_cbwr", "inside.libc.version"} <= set(answer.open)
    assert not set(answer.open) & set(answer.matches)


def test_under_the_native_profile_another_cpu_will_not_match():
    native = changed(EXPECTED, "inside.numerics.profile", "native")
    answer = forecast(native, host=HOST, packages=LOCKED)
    assert "host.cpu.model" in fields(answer)
    assert answer.same_platform


def test_a_package_that_was_upgraded_dropped_or_added_will_not_match():
    packages = {"numpy": "2.5.0", "new": "1"}
    answer = forecast(EXPECTED, host=HOST, packages=packages, python="3.12")
    assert sorted(fields(answer)) == [
        "inside.packages.new",
        "inside.packages.numpy",
        "inside.packages.torch",
        "inside.python.minor",
    ]


def test_without_a_lock_packages_are_open():
    answer = forecast(EXPECTED, host=HOST)
    assert answer.differences == ()
    assert "inside.packages.numpy" in answer.open


def test_an_environment_that_is_there_is_asked_for_all_that_it_has_at_rest():
    inside = {
        **EXPECTED["inside"],
        "libc": {"name": "glibc", "version": "2.41"},
        "torch": {"version": "2.13.0+cpu", "threads": 8, "mkl_cbwr": "OFF"},
        "numerics": {},
    }
    answer = forecast(EXPECTED, host=HOST, inside=inside)
    assert fields(answer) == ["inside.libc.version"]
    assert "inside.torch.version" in answer.matches
    assert "inside.torch.threads" in answer.open


def test_a_cpu_without_avx2_is_another_platform():
    host = changed(HOST, "cpu.features", ["sse2"])
    answer = forecast(EXPECTED, host=host, packages=LOCKED)
    assert not answer.same_platform
    assert "inside.cpu.avx2" in fields(answer)


def test_a_golden_of_a_gpu_needs_that_gpu_and_its_driver():
    device = {
        "kind": "cuda",
        "name": "NVIDIA H200",
        "driver": "1",
        "compute_capability": "9.0",
        "cuda": "13.0",
    }
    golden = changed(EXPECTED, "inside.device", device)
    assert not forecast(golden, host=HOST, packages=LOCKED).same_platform
    gpu = {"name": "NVIDIA H200", "driver": "2", "compute_capability": "9.0"}
    answer = forecast(golden, host=changed(HOST, "gpus", [gpu]), packages=LOCKED)
    assert answer.same_platform
    assert fields(answer) == ["inside.device.driver"]
    assert "inside.device.name" in answer.matches
    assert "inside.device.cuda" in answer.open


def test_a_golden_of_a_tpu_needs_a_tpu():
    golden = changed(EXPECTED, "inside.device", {"kind": "tpu", "name": "v5e"})
    assert "inside.device.kind" in fields(forecast(golden, host=HOST))
    answer = forecast(golden, host=changed(HOST, "tpu", {"name": "v5e", "chips": 8}))
    assert answer.differences == ()
    assert answer.same_platform


def test_a_record_with_nothing_in_it_promises_nothing():
    answer = forecast({}, host=HOST, packages=LOCKED)
    assert answer.matches == ()
    assert not answer.same_platform
