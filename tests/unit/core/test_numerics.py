"""The profiles: what is set, and that every setting says why."""

import pytest

from reprokit.core import numerics
from reprokit.errors import UsageError


def test_portable_pins_every_library_that_picks_kernels_by_cpu():
    assert {
        "MKL_CBWR": "COMPATIBLE",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Haswell",
    }.items() <= numerics.variables("portable", hash_seed=0).items()


def test_native_pins_threads_and_no_kernels():
    native = numerics.variables("native", hash_seed=0)
    assert {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}.items() <= native.items()
    assert not {"MKL_CBWR", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES"} & native.keys()


@pytest.mark.parametrize("name", ["portable", "native"])
def test_the_program_is_told_the_profile_and_the_hash_seed(name):
    set_ = numerics.variables(name, hash_seed=7)
    assert set_["REPROKIT_NUMERICS"] == name
    assert set_["PYTHONHASHSEED"] == "7"


@pytest.mark.parametrize("profile", numerics.PROFILES, ids=lambda profile: profile.name)
def test_every_setting_has_a_reason_and_a_name_of_its_own(profile):
    names = [setting.name for setting in profile.settings]
    assert len(names) == len(set(names))
    assert all(len(setting.reason) > 10 for setting in profile.settings)


@pytest.mark.parametrize("profile", numerics.PROFILES, ids=lambda profile: profile.name)
def test_a_setting_that_a_library_reports_says_what_the_report_must_be(profile):
    assert all(bool(setting.reported_as) == bool(setting.in_force) for setting in profile.settings)


def test_an_unknown_profile_is_refused_and_the_known_ones_are_named():
    with pytest.raises(UsageError, match="portable or native"):
        numerics.variables("fast", hash_seed=0)


@pytest.mark.parametrize("hash_seed", [-1, 2**32])
def test_a_hash_seed_that_python_would_refuse_is_refused_first(hash_seed):
    with pytest.raises(UsageError, match="0 to 4294967295"):
        numerics.variables("native", hash_seed=hash_seed)


def test_a_profile_is_what_its_version_says(file_regression):
    """A setting that changes is a new version of the profile (then ``--force-regen``)."""
    lines = [
        f"{profile.name} {profile.version} {one.name}={one.value} {one.reported_as} {' '.join(one.in_force)}"
        for profile in numerics.PROFILES
        for one in profile.settings
    ]
    file_regression.check("\n".join(line.rstrip() for line in lines) + "\n", basename="numerics_profiles")


def test_the_largest_hash_seed_is_accepted():
    assert numerics.variables("native", hash_seed=2**32 - 1)["PYTHONHASHSEED"] == "4294967295"
