"""What a person sees of a diagnosis and of two traces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from reprokit import cli
from reprokit.core.comparing.difference import Divergence
from reprokit.diagnosis import Began, Cause
from reprokit.errors import UsageError
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, Diagnosis
from reprokit.reports.pages import diagnosis_page

CAUSE = Cause(
    category="unseeded_rng",
    file="/lib/train.py",
    line=88,
    function="main",
    confidence="high",
    what="np.random.permutation: draws from a generator that was never seeded",
    fix="seed it",
)
BEGAN = Began(
    event="batch",
    update=37,
    steps=37_888,
    stream="batch",
    streams=("batch",),
    single=True,
    process="0",
    generators={"NumPy's global generator": 36},
    equal_before="update 36: gradients",
    since=(36, 37_888),
    until=(36, 37_888),
)
DIVERGENCE = Divergence(
    record=37, step=37_888, metric="loss", expected=0.5, actual=0.25, abs_error=0.25, rel_error=0.5, ulps=9
)
FOUND = Diagnosis(
    verdict=DIFFERS, divergence=DIVERGENCE, causes=(CAUSE,), began=BEGAN, folder=Path("reports/x"), runs=9
)


def _page(found: Diagnosis) -> list[str]:
    return list(diagnosis_page.page_lines(found, root=Path.cwd()))


def test_the_first_sentence_says_where_what_which_line_and_what_would_mend_it():
    assert _page(FOUND)[0] == (
        "NONDETERMINISTIC: first differs at update 37 (step 37,888), in the batch that the model is given; "
        "cause: np.random.permutation at /lib/train.py:88 draws from a generator that was never seeded; "
        "fix: seed it"
    )


def test_a_cause_without_a_call_begins_with_its_line():
    cause = replace(CAUSE, what="reads cache.json, which an earlier run wrote")
    told = _page(replace(FOUND, causes=(cause,)))[0]
    assert "cause: /lib/train.py:88: reads cache.json, which an earlier run wrote; fix: seed it" in told


def test_the_evidence_follows_in_its_order():
    assert _page(FOUND)[1:4] == [
        "  still equal just before: update 36: gradients",
        "  another state from update 36 on: NumPy's global generator",
        "  first metric that differs: step 37888, loss (0.5 and 0.25)",
    ]


def test_what_was_not_narrowed_is_said():
    coarse = replace(FOUND, began=replace(BEGAN, single=False))
    assert "first differs at update 37 (step 37,888) or before, in" in _page(coarse)[0]


def test_without_a_trace_of_the_training_the_first_metric_is_named():
    assert _page(replace(FOUND, began=None))[0].startswith(
        "NONDETERMINISTIC: first differs at step 37888, in loss; cause: np.random.permutation at"
    )


def test_a_cause_that_is_less_than_sure_is_called_probable_at_once_and_why_is_said():
    page = _page(replace(FOUND, causes=(replace(CAUSE, confidence="medium"),)))
    assert "; cause, probably: np.random.permutation at /lib/train.py:88" in page[0]
    missing = "no run differed in which only this varied"
    assert f"  confidence: medium, not high: {missing}" in page
    assert "  confidence: high" in _page(FOUND)


def test_an_environment_that_could_not_be_asked_alone_is_only_probable_for_another_reason():
    cause = replace(CAUSE, category="simulator", confidence="medium")
    missing = "it gave the same output in a process of its own"
    assert f"  confidence: medium, not high: {missing}" in _page(replace(FOUND, causes=(cause,)))


def test_where_nothing_differs_it_is_said_in_how_many_runs():
    equal = replace(FOUND, verdict=EQUAL, divergence=None, began=None, causes=())
    assert _page(equal)[0].startswith("REPEATABLE: no metric differs in 9 runs, ")


def test_a_cause_that_is_not_known_is_not_made_up():
    assert "cause unknown: no experiment shows one" in _page(replace(FOUND, causes=()))[0]


def test_machines_are_told_the_update_the_stream_and_the_event():
    told = FOUND.as_data()["divergence"]
    assert (told["update"], told["stream"], told["event"]) == (37, "batch", "batch")
    assert (told["step"], told["metric"], told["environment_steps"]) == (37_888, "loss", 37_888)


def watched(folder, answer):
    folder.mkdir()
    step = {"event": "step", "updates": 0, "steps": 1, "streams": {"answers of environment 0": answer}}
    told = {"mode": "narrow", "updates": 0, "steps": 1, "schedule": {}, "events": [step]}
    body = {"process": "0", "sites": {}, "files": {}, "facts": {}, "streams": [], "progress": told}
    (folder / "trace-0.json").write_text(json.dumps(body))
    return str(folder)


def run(*words):
    return CliRunner().invoke(cli.root, ["trace", "diff", *words], standalone_mode=False)


def test_two_traces_are_compared_event_by_event(tmp_path):
    one, other, same = (watched(tmp_path / name, answer) for name, answer in zip("abc", "xyx", strict=True))
    found = run(one, other)
    assert found.return_value == 1
    assert found.output.startswith("first differs at environment step 1, in what environment 0 answers\n")
    assert json.loads(run(one, other, "--json").output)["began"]["event"] == "step"
    assert run(one, same).return_value == 0
    assert "1 training event: all equal" in run(one, same).output


def test_a_trace_without_events_is_never_equal_to_one_that_has_some(tmp_path):
    one, other = (watched(tmp_path / name, "x") for name in "ab")
    empty = json.loads((tmp_path / "b" / "trace-0.json").read_text())
    empty["progress"]["events"] = []
    (tmp_path / "b" / "trace-0.json").write_text(json.dumps(empty))
    for pair in ((one, other), (other, one)):
        assert run(*pair).return_value == 1
    assert run(one, other).output.startswith("the first run recorded 1 training event, the second 0\n")
    assert json.loads(run(one, other, "--json").output)["events"] == [{"0": 1}, {}]


def test_two_runs_of_a_recipe_are_compared_by_the_digests_that_they_hold(tmp_path):
    for name, digest in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trace.jsonl").write_text(json.dumps({"step": 64, "parameters": digest}) + "\n")
    one, other = str(tmp_path / "a"), str(tmp_path / "b")
    assert run(one, other).return_value == 1
    assert run(one, other).output.startswith("first differs at step 64, in parameters\n")
    assert run(one, one).output == "1 updates: all equal\n"


def test_two_traces_without_an_update_are_no_equal_traces(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trace.jsonl").write_text("")
    found = CliRunner().invoke(
        cli.root, ["trace", "diff", str(tmp_path / "one"), str(tmp_path / "two")], standalone_mode=False
    )
    assert isinstance(found.exception, UsageError)
    assert "neither trace holds an update" in str(found.exception)


def test_a_pipe_gets_at_most_ten_lines_with_the_answer_first_and_the_command_last():
    many = replace(FOUND, known=tuple(f"fact {number}" for number in range(40)), next=("try this", "or that"))

    lines = diagnosis_page.first_lines(many, again=["Again: reprokit diagnose train"], root=Path("/lib"))

    assert len(lines) == 10
    assert lines[0].startswith("NONDETERMINISTIC: ")
    assert "  next: try this" in lines
    assert any("more lines in diagnosis.html" in line for line in lines)
    assert lines[-1] == "Again: reprokit diagnose train"
