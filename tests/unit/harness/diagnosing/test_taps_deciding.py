"""Which of entropy, clocks, threads and addresses decide: the smallest set that is enough to hold."""

import json
import struct
import types
from pathlib import Path

import pytest

from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Alike
from reprokit.harness.diagnosing.odds import Odds
from reprokit.harness.diagnosing.taps.deciding import what_decides
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.variations import Variation

SITE = "train.py:3:0-9"
CALL = Candidate(at=0, site=SITE, file="train.py", line=3, name="library.train")
TAPS = Taps(library=Path("taps.so"), key="0f" * 16, now=1)
LAYOUT = Variation(
    name="address_layout", says="", category="process_identity", fix="sort", start=("--fixed-addresses",)
)

MEMORY = Variation(
    name="memory_pattern", category="uninitialised_memory", fix="zeros", environment={"MALLOC_PERTURB_": "9"}
)


def proof(folder, *, decides, inside, all_of_it=()):
    """Runs are equal as soon as all of these are held; ``inside`` and ``all_of_it``: object → counters."""
    words = ("draws", "bytes", "clocks", "threads", "locks")
    moved = {f"/lib/{name}": dict(zip(words, counts, strict=False)) for name, counts in dict(inside).items()}
    record = {"site": SITE, "moved": moved, "most_threads": 1}
    (folder / "taps-0.jsonl").write_text(json.dumps(record) + "\n" if moved else "")
    objects = dict(all_of_it)
    table = struct.pack("<8s4Q", b"RPKTAPS1", 1, 1, 0, len(objects)).ljust(256, b"\0")
    for name, counts in objects.items():
        table += struct.pack("<192s5Q", f"/lib/{name}".encode(), 0, *counts).ljust(256, b"\0")
    (folder / "taps-0.bin").write_bytes(table)
    ran = types.SimpleNamespace(traced=folder, folder=folder / "none")
    made = []

    def equal_under(*, taps, start, environment, like, accepted, before, looks):
        held = {*(taps.hold if taps else ()), *start, *(environment or ())}
        made.append(held)
        odds = Odds(differ=6, equal=0, repeated=max(before, 1), apart=True)
        return Alike(run=like or ran, odds=odds) if set(decides) <= held else None

    return types.SimpleNamespace(kept=[ran], equal_under=equal_under, made=made)


@pytest.mark.parametrize(
    ("held", "category"), [("entropy", "unseeded_rng"), ("clock", "clock"), ("threads", "concurrency")]
)
def test_what_is_held_where_runs_are_equal_gives_the_category(tmp_path, held, category):
    given = proof(tmp_path, decides=[held], inside={"lib.so": (1, 8, 1, 1)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT)
    assert (found.held, found.category) == ((held,), category)
    assert "lib.so" in found.why


def test_locks_are_tried_where_the_library_starts_threads_that_take_them(tmp_path):
    given = proof(tmp_path, decides=["locks"], inside={"lib.so": (0, 0, 0, 4, 80)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT)
    assert (found.held, found.category) == (("locks",), "concurrency")
    assert found.why == "threads that lib.so starts take locks in another order"
    without = proof(tmp_path, decides=["locks"], inside={"lib.so": (1, 8, 0, 0, 80)})
    assert what_decides(without, CALL, TAPS, layout=None) is None
    assert all("locks" not in held for held in without.made)


def test_memory_is_named_before_addresses_where_either_is_enough_to_hold(tmp_path):
    given = proof(tmp_path, decides=["MALLOC_PERTURB_"], inside={})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT, memory=MEMORY)
    assert (found.held, found.category) == (("memory",), "uninitialised_memory")
    assert found.why == "it depends on what fresh memory holds"
    addresses = proof(tmp_path, decides=["--fixed-addresses"], inside={})
    assert what_decides(addresses, CALL, TAPS, layout=LAYOUT, memory=MEMORY).held == ("addresses",)


def test_entropy_and_addresses_that_decide_together_are_both_named(tmp_path):
    given = proof(tmp_path, decides=["entropy", "--fixed-addresses"], inside={"lib.so": (1, 8, 3, 0)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT)
    assert (found.held, found.category) == (("entropy", "addresses"), "unseeded_rng")
    assert found.why == "lib.so draws entropy, and it depends on addresses in memory"


def test_addresses_that_alone_give_something_else_each_time_the_same_are_enough(tmp_path):
    given = proof(tmp_path, decides=["--fixed-addresses"], inside={"lib.so": (0, 0, 0, 2, 80)})
    equal_under, everything = given.equal_under, {"threads", "locks", "--fixed-addresses"}

    def gives_something_else(*, like, **conditions):
        found = equal_under(like=like, **conditions)
        return found if like is None or "locks" in given.made[-1] else None

    given.equal_under = gives_something_else
    found = what_decides(given, CALL, TAPS, layout=LAYOUT)
    assert given.made[0] == everything
    assert (found.held, found.category) == (("addresses",), "process_identity")


def test_what_nothing_asked_for_is_not_tried_and_addresses_are(tmp_path):
    given = proof(tmp_path, decides=["--fixed-addresses"], inside={"lib.so": (0, 0, 0, 2)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT)
    assert (found.held, found.category, found.fix) == (("addresses",), "process_identity", "sort")
    assert not any({"entropy", "clock"} & held for held in given.made)


def test_entropy_that_was_drawn_before_the_call_counts_and_earlier_clocks_do_not(tmp_path):
    earlier = {"earlier.so": (2, 16, 5, 5)}
    given = proof(tmp_path, decides=["entropy"], inside={"lib.so": (0, 0, 1, 0)}, all_of_it=earlier)
    assert what_decides(given, CALL, TAPS, layout=None).why == "earlier.so draws entropy"
    assert not any("threads" in held for held in given.made)


def test_where_no_call_was_told_of_all_that_the_run_asked_for_is_tried(tmp_path):
    given = proof(tmp_path, decides=["clock"], inside={}, all_of_it={"lib.so": (0, 0, 4, 0)})
    assert what_decides(given, CALL, TAPS, layout=None).category == "clock"


@pytest.mark.parametrize("layout", [LAYOUT, None])
def test_where_all_of_it_held_is_not_enough_nothing_is_said(tmp_path, layout):
    given = proof(tmp_path, decides=["something else"], inside={"lib.so": (1, 8, 1, 1)})
    assert what_decides(given, CALL, TAPS, layout=layout) is None
    assert len(given.made) == 1


def test_without_taps_addresses_alone_are_tried(tmp_path):
    given = proof(tmp_path, decides=["--fixed-addresses"], inside={"lib.so": (1, 8, 1, 1)})
    assert what_decides(given, CALL, None, layout=LAYOUT).held == ("addresses",)
    assert what_decides(given, CALL, None, layout=None) is None


CORES = Variation(
    name="cpu_affinity", says="", category="concurrency", fix="one worker", start=("--cores", "1")
)


def test_hash_tables_keyed_by_a_clock_and_addresses_are_found_where_threads_share_one_core(tmp_path):
    decides = ["clock", "--fixed-addresses", "--cores"]
    given = proof(tmp_path, decides=decides, inside={"lib.so": (1, 8, 3, 2)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT, memory=MEMORY, cores=CORES)
    assert (found.held, found.category) == (("clock", "addresses", "cores"), "hash_order")
    keys = "the keys of its hash tables come from a clock and from addresses in memory"
    assert found.why == f"{keys}, and it depends on threads that work at the same time"
    assert what_decides(given, CALL, TAPS, layout=LAYOUT, memory=MEMORY) is None


@pytest.mark.parametrize(
    ("decides", "category"),
    [(["--cores"], "concurrency"), (["entropy", "--cores"], "unseeded_rng"), (["clock", "--cores"], "clock")],
)
def test_what_decides_together_with_threads_gives_the_category(tmp_path, decides, category):
    given = proof(tmp_path, decides=decides, inside={"lib.so": (1, 8, 3, 2)})
    found = what_decides(given, CALL, TAPS, layout=LAYOUT, cores=CORES)
    assert (found.held[-1], found.category) == ("cores", category)


def test_all_that_may_decide_on_one_core_is_held_at_once_before_its_parts_are(tmp_path):
    given = proof(tmp_path, decides=["something else"], inside={"lib.so": (1, 8, 3, 2)})
    assert what_decides(given, CALL, TAPS, layout=LAYOUT, cores=CORES) is None
    everything, cores, both, *parts = given.made
    assert "--cores" not in everything
    assert cores == {"--cores", "1"}
    assert all(part <= both for part in parts)


def test_what_decides_without_threads_is_not_tried_on_one_core(tmp_path):
    given = proof(tmp_path, decides=["entropy"], inside={"lib.so": (1, 8, 3, 2)})
    assert what_decides(given, CALL, TAPS, layout=LAYOUT, cores=CORES).held == ("entropy",)
    assert not any("--cores" in held for held in given.made)
