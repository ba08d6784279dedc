"""What a run with the taps inherits: nothing of its own is lost, and a container mounts what it needs."""

from pathlib import Path

import pytest

from reprokit.core.records import Realisation, RunSpec
from reprokit.harness.diagnosing.taps.preloaded import Taps, preloaded

TAPS = Taps(library=Path("/cache/taps/1a2b/taps.so"), key="0f" * 16, now=1_700_000_000)


def spec_of(*, inherits=False, image=False, **variables):
    kind = Realisation(
        kind="image", reference="sha256:1", digest="sha256:1", python="python", variant="cpu", lock_digest=""
    )
    return RunSpec(
        recipe="r",
        run_id="1",
        seed=0,
        device="cpu",
        command=("python", "train.py"),
        environment={"PYTHONPATH": "/hook:/own", **variables},
        inherit_environment=inherits,
        realisation=kind if image else None,
    )


def test_the_tables_lie_next_to_the_output(tmp_path):
    made = preloaded(spec_of(), TAPS, stage=tmp_path)
    assert Path(made.environment["REPROKIT_TAPS"]).is_dir()
    assert Path(made.environment["REPROKIT_TAPS"]).parent == tmp_path


@pytest.mark.parametrize("inherits", [True, False])
def test_a_library_that_is_preloaded_already_stays(tmp_path, monkeypatch, inherits):
    monkeypatch.setenv("LD_PRELOAD", "/lib/of-the-caller.so")
    made = preloaded(spec_of(inherits=inherits), TAPS, stage=tmp_path)
    kept = ["/lib/of-the-caller.so"] if inherits else []
    assert made.environment["LD_PRELOAD"].split(":") == [str(TAPS.library), *kept]
    own = preloaded(spec_of(LD_PRELOAD="/lib/own.so /lib/two.so"), TAPS, stage=tmp_path)
    assert own.environment["LD_PRELOAD"] == f"{TAPS.library}:/lib/own.so /lib/two.so"


def test_what_tells_calls_apart_comes_after_the_hook_and_before_the_programs_own(tmp_path):
    first, second, third = preloaded(spec_of(), TAPS, stage=tmp_path).environment["PYTHONPATH"].split(":")
    assert (first, third) == ("/hook", "/own")
    assert (Path(second) / "sitecustomize.py").is_file()


def test_where_something_is_held_calls_are_not_told_apart(tmp_path):
    held = Taps(library=TAPS.library, key=TAPS.key, now=TAPS.now, hold=("entropy", "clock"))
    made = preloaded(spec_of(), held, stage=tmp_path).environment
    assert made["PYTHONPATH"] == "/hook:/own"
    assert (made["REPROKIT_TAPS_HOLD"], made["REPROKIT_TAPS_KEY"]) == ("entropy,clock", TAPS.key)


def test_a_container_mounts_the_library_by_its_digests_folder(tmp_path):
    made = preloaded(spec_of(image=True), TAPS, stage=tmp_path)
    assert made.environment["LD_PRELOAD"] == "{mounts}/taps-library/taps.so"
    paths = {mount.name: Path(mount.path) for mount in made.mounts}
    assert paths["taps-library"] == TAPS.library.parent
    assert (paths["taps-inside"] / "reprokit_taps.py").is_file()
    assert "{mounts}/taps-inside" in made.environment["PYTHONPATH"].split(":")
