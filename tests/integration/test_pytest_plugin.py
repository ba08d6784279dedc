"""``reprokit_golden`` in someone else's test suite, from the first golden to the next one.

The planted faults are in ``unit/pytest_plugin``: they need no pytest within pytest.
"""

from __future__ import annotations

import json

import pytest

pytest_plugins = ["pytester"]

SUITE = """
    import json, pathlib

    def test_loss(reprokit_golden):
        reprokit_golden.check(json.loads(pathlib.Path("metrics.json").read_text()))
"""
GOOD = [{"step": 0, "loss": 0.1}, {"step": 1, "loss": 0.30000000000000004}]
OTHER = [GOOD[0], {"step": 1, "loss": 0.3000000000000001}]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run a suite of one test in a process of its own, as a person does, with these metrics."""
    pytester.makepyfile(test_training=SUITE)
    monkeypatch.delenv("CI", raising=False)  # where no golden is written

    def started(metrics, *arguments: str) -> pytest.RunResult:
        (pytester.path / "metrics.json").write_text(json.dumps(metrics))
        # Installed, the plugin is loaded by the name of its entry point; named here, it is once in both.
        return pytester.runpytest_subprocess(
            "-p", "no:reprokit", "-p", "reprokit.pytest_plugin", "-p", "no:cacheprovider", *arguments
        )

    return started


def test_a_golden_is_written_and_fails_then_passes_then_finds_a_change_then_is_updated(run, pytester):
    folder = pytester.path / "test_training"
    first = run(GOOD)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*NO_GOLDEN: there was no golden, so one was written*"])
    golden = folder / "test_loss.jsonl"
    before = golden.read_bytes()
    assert [json.loads(line) for line in before.splitlines()] == GOOD

    run(GOOD).assert_outcomes(passed=1)

    changed = run(OTHER)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*REGRESSION: the metrics differ from the golden*"])
    assert golden.read_bytes() == before
    obtained = (folder / "test_loss.obtained.jsonl").read_text()
    assert [json.loads(line) for line in obtained.splitlines()] == OTHER

    updated = run(OTHER, "--reprokit-update")
    updated.assert_outcomes(failed=1)
    updated.stdout.fnmatch_lines(["*The golden was written again*"])
    run(OTHER, "--reprokit-update").assert_outcomes(passed=1)
    assert sorted(path.name for path in folder.iterdir()) == ["test_loss.jsonl", "test_loss.provenance.json"]


def test_methods_of_two_classes_with_one_name_have_goldens_of_their_own(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # where no golden is written
    pytester.makepyfile(
        test_training="""
        class TestFirst:
            def test_loss(self, reprokit_golden):
                reprokit_golden.check([{"loss": 1.0}])

        class TestSecond:
            def test_loss(self, reprokit_golden):
                reprokit_golden.check([{"loss": 2.0}])
        """
    )
    words = ("-p", "no:reprokit", "-p", "reprokit.pytest_plugin", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*words).assert_outcomes(failed=2)
    pytester.runpytest_subprocess(*words).assert_outcomes(passed=2)
    assert (pytester.path / "test_training" / "TestSecond.test_loss.jsonl").is_file()
