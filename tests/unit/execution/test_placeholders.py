"""Placeholders are filled in once, and only those that exist."""

import pytest

from reprokit.core.records import Mount, RunSpec
from reprokit.errors import UsageError
from reprokit.execution.placeholders import fill, fill_folder, placeholders, refuse_near_misses, unused


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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("{rundir}", "{run_dir}"),
        ("--logdir={run-dir}", "{run_dir}"),
        ("{RUN_DIR}/logs", "{run_dir}"),
        ("{run_dri}", "{run_dir}"),
        ("{Seed}", "{seed}"),
        ("{sed}", "{seed}"),
        ("{devices}", "{device}"),
        ("{pyhton}", "{python}"),
    ],
)
def test_a_misspelt_placeholder_is_refused_with_the_one_that_was_meant(typed, meant):
    with pytest.raises(UsageError) as raised:
        refuse_near_misses(["python", "train.py", typed])
    assert meant in str(raised.value)
    assert raised.value.fix == f"write {meant}"


@pytest.mark.parametrize(
    "word",
    [
        *("{seed}", "{run_dir}", "{device}", "{mounts}/x", "{python}", "{stopped_run_dir}"),
        *(
            '{"seeds":1}',
            "${RUN_DIR}",
            "{lr}",
            "{}",
            "{0}",
            "{logdir}",
            "print(f'{seeds} {rundir}')",
            "{a,b}",
        ),
    ],
)
def test_braces_that_nobody_meant_for_us_are_left_alone(word):
    refuse_near_misses(["python", word])


def test_a_placeholder_that_no_argument_uses_is_said():
    assert unused(["python", "t.py", "--s={seed}", "{run_dir}/x"]) == ()
    assert [one.split(":")[0] for one in unused(["python", "t.py"])] == [
        "no argument uses {seed}",
        "no argument uses {run_dir}",
    ]
    assert len(unused(["sh", "-c", "train --out {run_dir}"])) == 1


def spec_with_data(*mounts: tuple[str, str]) -> RunSpec:
    made = tuple(Mount(name=name, path=f"/host/{name}", folder=folder) for folder, name in mounts)
    return RunSpec(recipe="r", run_id="1", seed=7, device="cpu", command=("x",), mounts=made)


def test_mounts_in_one_folder_are_named_by_the_folder():
    spec = spec_with_data(("data", "a.csv"), ("data", "b.csv"))
    values = placeholders(spec, run_dir="/out", mounts="/m", python="/bin/py")
    assert values["data"] == "/m/data"
    assert "a.csv" not in values
    assert [mount.target for mount in spec.mounts] == ["data/a.csv", "data/b.csv"]


@pytest.mark.parametrize(
    "mounts",
    [
        [("data", "a"), ("data", "a")],
        [("", "data"), ("data", "a")],
        [("data", "a"), ("", "data")],
        [("seed", "a")],
        [("..", "a")],
        [("a/b", "c")],
        [("data", "../a")],
    ],
)
def test_a_folder_of_mounts_that_is_taken_or_leads_out_is_refused(mounts):
    with pytest.raises(UsageError, match="not a valid mount name"):
        placeholders(spec_with_data(*mounts), run_dir="/out", mounts="/m", python="/bin/py")
