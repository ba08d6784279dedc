"""Why a call differs: the threads of compiled code that decide it, one pool after another."""

import json
import types

from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing import why_calls_differ

SITE = "train.py:3:0-9"


def proof(folder, *, decides, native=4, parameters=(), settings=()):
    """Two runs that kept what a call gave; runs are equal as soon as one of these variables is set."""
    record = {
        "site": SITE,
        "generators": {},
        "python_threads": 0,
        "native_threads": native,
        "parameters": list(parameters),
        "settings": list(settings),
    }
    (folder / "calls-0.jsonl").write_text(json.dumps(record) + "\n")
    ran = types.SimpleNamespace(traced=folder)
    return types.SimpleNamespace(
        kept=[ran, ran],
        confidence="high",
        equal_under=lambda *, environment, **_: ran if set(decides) & set(environment) else None,
    )


def one():
    return Candidate(at=0, site=SITE, file="train.py", line=3, name="library.train")


def test_threads_whose_number_the_program_sets_itself_are_found_by_the_limit_of_openmp(tmp_path):
    cause = why_calls_differ.causes(proof(tmp_path, decides=["OMP_THREAD_LIMIT"]), [one()])[0]
    assert (cause.category, cause.fix, cause.confidence) == ("concurrency", "OMP_THREAD_LIMIT=1", "high")
    assert "OpenMP" in cause.what


def test_a_parameter_of_the_call_is_the_fix(tmp_path):
    given = proof(tmp_path, decides=["OMP_NUM_THREADS"], parameters=["rows", "n_jobs"])
    assert why_calls_differ.causes(given, [one()])[0].fix == "n_jobs=1"


def test_a_setting_that_the_program_gives_in_a_dictionary_is_the_fix(tmp_path):
    given = proof(tmp_path, decides=["OMP_THREAD_LIMIT"], parameters=["params"], settings=["eta", "nthread"])
    assert why_calls_differ.causes(given, [one()])[0].fix == "nthread=1"


def test_threads_are_named_where_the_call_itself_cannot_be_proven_and_are_no_certainty(tmp_path):
    cause = why_calls_differ.by_threads(proof(tmp_path, decides=["OPENBLAS_NUM_THREADS"]), one())
    assert (cause.category, cause.line, cause.confidence) == ("concurrency", 3, "medium")
    assert cause.fix == "OPENBLAS_NUM_THREADS=1"


def test_without_an_experiment_that_shows_it_no_threads_are_named(tmp_path):
    assert why_calls_differ.by_threads(proof(tmp_path, decides=[]), one()) is None
    assert why_calls_differ.by_threads(proof(tmp_path, decides=["OMP_NUM_THREADS"], native=0), one()) is None
