"""Placeholders are filled in once, and only those that exist."""

import pytest

from reprokit.core.records import Mount, RunSpec
from reprokit.errors import UsageError
from reprokit.execution.placeholders import fill, fill_folder, placeholders


def spec_with(*names: str) -> RunSpec:
    mounts = tuple(Mount(name=name, path=f"/host/{name}") for name in names)
    return RunSpec(recipe="r", run_id="1", seed=7, device="cpu", command=("x",), mounts=mounts)


def values_of(*names: str) -> dict[str, str]:
    return placeholders(spec_with(*names), run_dir="/out", mounts="/m", python="/bin/py")


def test_every_placeholder_of_a_run_is_filled_in():
    text = fill("{python} {mounts} {seed} {device} {run_dir} {code}", values_of("code"))
    assert text == "/bin/py /m 7 cpu /out /m/code"


def test_a_mount_of_a_file_keeps_its_dot():
    assert fill("{config.yaml}", values_of("config.yaml")) == "/m/config.yaml"


@pytest.mark.parametrize(
    "text", ['{"seed": 1}', "{}", "{unknown}", "{{}", "}{", "${HOME}", "{seed:d}", "{0}"]
)
def test_braces_that_are_no_placeholder_stay(text: str):
    assert fill(text, values_of()) == text


def test_a_placeholder_inside_other_braces_is_found():
    assert fill('{"seed": {seed}}', values_of()) == '{"seed": 7}'


def test_a_filled_in_value_is_not_searched_again():
    assert fill("{a}{b}", {"a": "{b}", "b": "x"}) == "{b}x"


@pytest.mark.parametrize("name", ["seed", "run_dir", "mounts", "", ".", "..", "a/b", "/etc"])
def test_a_mount_name_that_is_taken_or_no_file_name_is_refused(name: str):
    with pytest.raises(UsageError, match="not a valid mount name"):
        values_of(name)


def test_two_mounts_of_one_name_are_refused():
    with pytest.raises(UsageError, match="'code'"):
        values_of("code", "code")


def test_a_folder_of_the_host_is_taken_as_it_is_called():
    assert fill_folder("/home/{seed}/{run_dir}", {"seed": "7", "run_dir": "/r"}) == "/home/{seed}/{run_dir}"
    assert fill_folder("{mounts}/data", {"mounts": "/m"}) == "/m/data"
