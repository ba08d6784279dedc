"""How a run is put under watch and under different conditions, on this host and in a container."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.capture.interpreter import find_python
from reprokit.core.records import Mount, Realisation, RunSpec
from reprokit.errors import CannotRunError, UsageError
from reprokit.execution.docker_config import container_config
from reprokit.harness.running.programs.hooked_run import bring_out, hooked, make_trace_folder, places_of
from reprokit.harness.running.varying import emulation
from reprokit.harness.running.varying.apply_variations import changed, check_names, joined, there
from reprokit.variations import Variation

IMAGE = Realisation(
    variant="cpu",
    kind="image",
    reference=f"sha256:{'2' * 64}",
    digest="sha256:2",
    python="/opt/python",
    lock_digest="sha256:1",
)
PLAIN = RunSpec(
    recipe="r", run_id="1", seed=7, device="cpu", command=("python", "t.py"), inherit_environment=True
)
INSIDE = RunSpec(
    recipe="r",
    run_id="1",
    seed=7,
    device="cpu",
    command=("{python}", "-m", "x"),
    realisation=IMAGE,
    environment={"PYTHONPATH": "{mounts}"},
    mounts=(Mount(name="reprokit", path="/src/reprokit"),),
)


def placed(spec, tmp_path, **more):
    return places_of(
        spec, stage=tmp_path / "run", traced=tmp_path / "traces", apart=tmp_path / "apart", **more
    )


def test_in_a_container_hook_and_orders_are_read_only_and_the_trace_leaves_by_the_run_folder(tmp_path):
    places = placed(INSIDE, tmp_path, replay=tmp_path / "earlier")
    spec = hooked(INSIDE, places, environment={"A": "b"})
    made = container_config(spec, output="/host/output", user="65532:65532", labels={})
    host, variables = made["HostConfig"], dict(one.split("=", 1) for one in made["Env"])
    assert variables["PYTHONPATH"] == "/mnt/reprokit/reprokit/instrumentation:/mnt/reprokit"
    assert variables["REPROKIT_HOOK"] == "/mnt/reprokit/orders.json"
    assert (places.out, places.replay) == ("/run_dir/.reprokit", "/mnt/reprokit/replay")
    writable = [one["Target"] for one in host["Mounts"] if not one["ReadOnly"]]
    assert writable == ["/run_dir"]
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])


def test_on_this_host_every_path_is_what_it_is(tmp_path):
    places = placed(PLAIN, tmp_path)
    assert places.mounts == ()
    assert places.out == str((tmp_path / "traces").resolve())
    assert Path(places.hook, "sitecustomize.py").is_file()


def test_what_a_containers_watch_left_is_moved_and_links_are_not(tmp_path):
    stage, traced = tmp_path / "run", tmp_path / "traces"
    (stage / "output").mkdir(parents=True)
    traced.mkdir()
    make_trace_folder(INSIDE, stage)
    room = stage / "output" / ".reprokit"
    (room / "trace-0.json").write_text("{}")
    (room / "trace-1.json").symlink_to("/etc/passwd")
    (room / "orders.json").write_text("not the host's")
    bring_out(INSIDE, stage, traced)
    assert [path.name for path in traced.iterdir()] == ["trace-0.json"]
    assert not room.exists()


def test_a_link_in_place_of_the_room_is_left_alone(tmp_path):
    stage, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    (stage / "output").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "trace-0.json").write_text("{}")
    (stage / "output" / ".reprokit").symlink_to(elsewhere)
    bring_out(INSIDE, stage, tmp_path)
    assert (elsewhere / "trace-0.json").is_file()


def test_the_starter_stands_before_the_program_with_the_interpreter_that_is_there():
    assert changed(INSIDE, start=("--umask", "077")).command == (
        "{python}",
        "-I",
        "-S",
        "{mounts}/reprokit/execution/varied_start.py",
        "--umask",
        "077",
        "--",
        "{python}",
        "-m",
        "x",
    )
    words = changed(PLAIN, start=("--umask", "077")).command
    assert words[:3] == (find_python(PLAIN.command) or sys.executable, "-I", "-S")
    assert Path(words[3]).is_file()
    assert words[-2:] == PLAIN.command


def test_the_emulator_stands_behind_the_starter(monkeypatch):
    monkeypatch.setattr(emulation, "find_emulator", lambda *, in_container: "/usr/bin/qemu-x86_64-static")
    words = changed(INSIDE, start=("--umask", "077"), cpu="Haswell").command
    assert words.index("{emulator}") == words.index("--") + 1


def test_no_emulator_is_no_run(monkeypatch):
    def missing(*, in_container):
        raise CannotRunError("the emulator is not installed")

    monkeypatch.setattr(emulation, "find_emulator", missing)
    with pytest.raises(CannotRunError):
        changed(PLAIN, cpu="Haswell")
    assert there(PLAIN, folder=Path()).no_emulator == "the emulator is not installed"


def test_nothing_to_change_changes_nothing():
    assert changed(INSIDE) == INSIDE


def test_several_variations_are_one_change():
    one = Variation(name="a", says="a", category="environment", fix="f", vary=("x",), environment={"A": "1"})
    other = replace(
        one, name="b", vary=("y",), environment={"B": "2"}, start=("--umask", "077"), run_folder="z"
    )
    joint = joined([one, other])
    assert (joint.vary, dict(joint.environment), joint.start, joint.run_folder) == (
        ("x", "y"),
        {"A": "1", "B": "2"},
        ("--umask", "077"),
        "z",
    )


def test_a_name_that_is_none_is_refused_with_the_nearest():
    check_names(["umask"])
    with pytest.raises(UsageError, match="did you mean 'umask'"):
        check_names(["umaks"])


def test_there_is_known_of_this_host_and_of_a_container(tmp_path):
    here, inside = there(PLAIN, folder=tmp_path), there(INSIDE, folder=tmp_path)
    assert (here.container, inside.container) == (False, True)
    assert here.cores == inside.cores != ()
    assert inside.folder.startswith("/tmp/")
    assert inside.network is None
    assert inside.environment == {"PYTHONPATH": "{mounts}"}
