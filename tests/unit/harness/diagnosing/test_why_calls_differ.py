"""Why a call differs: the threads of compiled code that decide it, one pool after another."""

import json
import types
from dataclasses import replace

import pytest

from reprokit.diagnosis import Site
from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing import why_calls_differ
from reprokit.harness.diagnosing.call_experiments import Alike
from reprokit.harness.diagnosing.odds import Odds
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.why_calls_differ import Reasons
from reprokit.variations import AvailableVariations, Variation

SITE = "train.py:3:0-9"


@pytest.fixture(autouse=True)
def place_that_randomises_addresses(monkeypatch, tmp_path):
    layout = Variation(
        name="address_layout", says="", category="process_identity", fix="none", start=("--fixed-addresses",)
    )
    monkeypatch.setattr(why_calls_differ, "there", lambda *_, **__: None)
    monkeypatch.setattr(
        why_calls_differ, "survey", lambda *_, **__: AvailableVariations(made=(layout,), unmade=())
    )


def proof(folder, *, decides, native=4, python=0, processes=1, generators=(), parameters=(), settings=()):
    """Two runs with a call watched; runs are equal as soon as all of these variables or modes are set."""
    record = {
        "site": SITE,
        "generators": dict(generators),
        "python_threads": python,
        "native_threads": native,
        "parameters": list(parameters),
        "settings": list(settings),
    }
    (folder / "calls-0.jsonl").write_text(json.dumps(record) + "\n")
    ran = types.SimpleNamespace(traced=folder, trace=types.SimpleNamespace(sites={}, processes=processes))
    made = []

    def equal_under(
        *, environment=None, calls=None, start=(), before=0, taps=None, one_worker=False, pins=(), **_
    ):
        held = taps.hold if taps else ()
        made.append({*held, *pins, *start, *(calls or {})} or set(environment or ()))
        made[-1] |= {calls["mode"]} - {"off"} if calls else set()
        made[-1] |= {"one worker"} if one_worker else set()
        odds = Odds(differ=6, equal=0, repeated=max(before, 1), apart=True)
        return Alike(run=ran, odds=odds) if set(decides) <= made[-1] else None

    lab = types.SimpleNamespace(spec=None, apart=folder, can_make=lambda _: True)
    seeds_nothing = types.SimpleNamespace(trace=types.SimpleNamespace(sites={}))
    inquiry = types.SimpleNamespace(first=ran, other=seeds_nothing, lab=lab, taps=None)
    other = folder / "other"
    other.mkdir(exist_ok=True)
    record["generators"] = {name: f"not {state}" for name, state in record["generators"].items()}
    (other / "calls-0.jsonl").write_text(json.dumps(record) + "\n")
    watched = [ran, types.SimpleNamespace(traced=other, trace=ran.trace)]
    return types.SimpleNamespace(
        watched=watched, inquiry=inquiry, equal_under=equal_under, made=made, kept=[ran]
    )


def reasons_of(given):
    return Reasons(given, given.watched)


def one():
    return Candidate(at=0, site=SITE, file="train.py", line=3, name="library.train")


def test_processes_of_a_pool_that_decide_are_named_with_what_each_task_needs(tmp_path):
    given = proof(tmp_path, decides=["one worker"], native=0, processes=3, parameters=["n_jobs"])
    cause = reasons_of(given).cause(one())
    assert (cause.category, cause.confidence) == ("concurrency", "high")
    assert cause.fix == "give each task a generator of its own, made from its number"
    assert "the processes of a pool work in another order" in cause.what


DRAW = "unseeded|train.py|12"


def _drawn_in_workers(given, *, processes):
    site = Site(
        kind="unseeded",
        file="train.py",
        line=12,
        function="task",
        what="random.random",
        count=64,
        digest="another one in each run",
        first=1,
        processes=processes,
    )
    given.inquiry.first.trace.sites[DRAW] = site
    given.inquiry.first.trace.facts = {}


def test_the_order_of_workers_and_a_generator_that_nothing_seeds_in_them_are_both_named(tmp_path):
    given = proof(tmp_path, decides=["one worker", DRAW], native=0, processes=3)
    _drawn_in_workers(given, processes=("0.f1", "0.f2"))
    reasons = reasons_of(given)
    cause = reasons.cause(one())
    assert (cause.category, cause.line, cause.confidence) == ("concurrency", 3, "medium")
    assert "in which nothing seeds Python's global generator" in cause.what
    (besides,) = reasons.besides
    assert (besides.category, besides.line, besides.confidence) == ("unseeded_rng", 12, "medium")


def test_a_generator_that_nothing_seeds_is_not_named_where_the_order_of_workers_is_enough(tmp_path):
    given = proof(tmp_path, decides=["one worker"], native=0, processes=3)
    _drawn_in_workers(given, processes=("0.f1", "0.f2"))
    reasons = reasons_of(given)
    assert (reasons.cause(one()).confidence, reasons.besides) == ("high", ())


def test_a_generator_of_the_first_process_alone_is_not_held_with_one_worker(tmp_path):
    given = proof(tmp_path, decides=["one worker", DRAW], native=0, processes=3)
    _drawn_in_workers(given, processes=("0",))
    reasons = reasons_of(given)
    assert (reasons.cause(one()).category, reasons.besides) == ("unknown", ())


def test_a_program_of_one_process_is_not_run_with_one_worker(tmp_path):
    given = proof(tmp_path, decides=["one worker"], native=0)
    assert reasons_of(given).cause(one()).category != "concurrency"
    assert not any("one worker" in conditions for conditions in given.made)


@pytest.mark.parametrize(
    ("decides", "category"), [("one worker", "concurrency"), ("none of them", "unseeded_rng")]
)
def test_a_generator_of_a_worker_is_its_own_or_one_that_it_inherited_as_a_pool_of_one_shows(
    tmp_path, decides, category
):
    given = proof(tmp_path, decides=[decides], native=0, processes=3, generators={"numpy.random": "a"})
    assert reasons_of(given).cause(replace(one(), elsewhere=True)).category == category


@pytest.mark.parametrize(("decides", "confidence"), [(["clock"], "high"), (["clock", "threads"], "medium")])
def test_what_takes_several_kinds_together_is_no_certainty(tmp_path, decides, confidence):
    given = proof(tmp_path, decides=decides, native=0)
    moved = {"/lib/library.so": {"clocks": 1, "threads": 2}}
    reasons = _tapped(given)
    (tmp_path / "taps-0.jsonl").write_text(json.dumps({"site": SITE, "moved": moved}) + "\n")
    cause = reasons.cause(one())
    assert (cause.category, cause.confidence) == ("clock", confidence)


def test_threads_whose_number_the_program_sets_itself_are_found_by_the_limit_of_openmp(tmp_path):
    cause = reasons_of(proof(tmp_path, decides=["OMP_THREAD_LIMIT"])).cause(one())
    assert (cause.category, cause.confidence) == ("concurrency", "high")
    assert cause.fix == "OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1"
    assert "OpenMP" in cause.what


@pytest.mark.parametrize(
    ("decides", "fix"),
    [
        (["MKL_NUM_THREADS"], "MKL_NUM_THREADS=1"),
        (["OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"], "OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1"),
    ],
)
def test_the_pools_that_decide_are_named_alone_or_together(tmp_path, decides, fix):
    assert reasons_of(proof(tmp_path, decides=decides)).cause(one()).fix == fix


def test_threads_of_python_are_tried_before_those_of_compiled_code(tmp_path):
    given = proof(tmp_path, decides=["turns"], python=2)
    assert reasons_of(given).cause(one()).category == "concurrency"
    assert given.made[-1] == {"mode", "turns"}


def test_a_generator_in_another_state_is_the_reason_and_no_pool_is_tried(tmp_path):
    given = proof(tmp_path, decides=["OMP_NUM_THREADS"], generators={"model._rng": "a"}, parameters=["seed"])
    cause = reasons_of(given).cause(one())
    assert (cause.category, cause.fix) == ("unseeded_rng", "give it seed=")
    assert "model._rng" in cause.what
    assert given.made == []


def test_where_threads_of_python_decide_no_generators_are_compared(tmp_path):
    given = proof(tmp_path, decides=["one"], generators={"model._rng": "a"}, python=2)
    assert reasons_of(given).cause(one()).category == "concurrency"


def test_what_was_tried_in_vain_for_one_call_is_not_tried_for_the_next(tmp_path):
    given = proof(tmp_path, decides=["none of them"])
    reasons = reasons_of(given)
    assert [reasons.cause(one()).category for _ in range(3)] == ["unknown"] * 3
    assert sum("OMP_NUM_THREADS" in variables for variables in given.made) == 1


def test_a_parameter_of_the_call_is_the_fix(tmp_path):
    given = proof(tmp_path, decides=["OMP_NUM_THREADS"], parameters=["rows", "n_jobs"])
    assert reasons_of(given).cause(one()).fix == "n_jobs=1"


def test_a_setting_that_the_program_gives_in_a_dictionary_is_the_fix(tmp_path):
    given = proof(tmp_path, decides=["OMP_THREAD_LIMIT"], parameters=["params"], settings=["eta", "nthread"])
    assert reasons_of(given).cause(one()).fix == "nthread=1"


def test_where_no_threads_decide_but_the_layout_of_memory_does_addresses_are_named(tmp_path):
    cause = reasons_of(proof(tmp_path, decides=["--fixed-addresses"])).cause(one())
    assert (cause.category, cause.fix) == ("process_identity", "none")


def test_threads_are_named_where_the_call_itself_cannot_be_proven_and_are_no_certainty(tmp_path):
    reasons = reasons_of(proof(tmp_path, decides=["OPENBLAS_NUM_THREADS"]))
    cause = reasons.by_threads(one(), reasons.pool(one()))
    assert (cause.category, cause.line, cause.confidence) == ("concurrency", 3, "medium")
    assert cause.fix == "OPENBLAS_NUM_THREADS=1"


def _tapped(given, *, drew=True):
    moved = {"/lib/library.so": {"draws": 1, "bytes": 8}} if drew else {}
    folder = given.kept[0].traced
    (folder / "taps-0.jsonl").write_text(json.dumps({"site": SITE, "moved": moved}) + "\n")
    given.kept[0].folder = folder
    given.inquiry.taps = Taps(library=folder / "taps.so", key="0f" * 16, now=1)
    return reasons_of(given)


def test_what_compiled_code_draws_is_named_where_the_call_itself_cannot_be_proven(tmp_path):
    cause = _tapped(proof(tmp_path, decides=["entropy"])).by_taps(one())
    assert (cause.category, cause.line, cause.confidence) == ("unseeded_rng", 3, "medium")
    assert "library.so draws entropy" in cause.what


def test_where_nothing_was_seen_inside_a_call_that_cannot_be_proven_nothing_is_tried(tmp_path):
    given = proof(tmp_path, decides=["entropy"])
    assert _tapped(given, drew=False).by_taps(one()) is None
    assert _tapped(proof(tmp_path, decides=["none of them"])).by_taps(one()) is None
    assert given.made == []


def test_threads_that_no_variable_limits_are_found_where_none_can_be_started_and_are_no_certainty(tmp_path):
    given = proof(tmp_path, decides=["alone"])
    cause = _tapped(given).cause(one())
    assert (cause.category, cause.confidence) == ("concurrency", "medium")
    assert "threads that compiled code starts by itself" in cause.what
    assert len(given.made) == 2  # after one thread in every pool


def test_a_pool_that_a_variable_limits_is_named_before_any_thread_is_refused(tmp_path):
    given = proof(tmp_path, decides=["OMP_NUM_THREADS"])
    assert "OpenMP" in _tapped(given).cause(one()).what
    assert {"alone"} not in given.made


def test_where_one_thread_of_python_works_beside_many_of_compiled_code_those_come_first(tmp_path):
    given = proof(tmp_path, decides=["OMP_NUM_THREADS"], python=1)
    assert "OpenMP" in reasons_of(given).cause(one()).what
    assert not any("mode" in conditions for conditions in given.made)
    other = proof(tmp_path, decides=["one"], python=1)
    assert "the threads that it starts" in reasons_of(other).cause(one()).what


def test_without_an_experiment_that_shows_it_no_threads_are_named(tmp_path):
    assert reasons_of(proof(tmp_path, decides=["none of them"])).pool(one()) is None
    assert reasons_of(proof(tmp_path, decides=["OMP_NUM_THREADS"], native=0)).pool(one()) is None


def test_threads_that_draw_entropy_besides_are_the_reason_where_neither_alone_is(tmp_path):
    cause = reasons_of(proof(tmp_path, decides=["one", "entropy"], python=2, native=0)).cause(one())
    assert (cause.category, cause.fix) == ("concurrency", "let it work with one thread")
    assert "entropy" in cause.what


def test_where_entropy_alone_is_enough_it_is_not_called_a_matter_of_threads(tmp_path):
    given = proof(tmp_path, decides=["entropy"], python=2, native=0)
    assert reasons_of(given).pool(one()) is None


def test_threads_that_compiled_code_starts_are_seen_in_the_run_with_the_taps(tmp_path):
    given = proof(tmp_path, decides=["threads"])
    assert not _tapped(given).starts_threads(one())
    moved = {"/lib/library.so": {"threads": 4}}
    (tmp_path / "taps-0.jsonl").write_text(json.dumps({"site": SITE, "moved": moved}) + "\n")
    assert reasons_of(given).starts_threads(one())
