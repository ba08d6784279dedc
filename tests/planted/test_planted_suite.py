"""The suite of planted faults is worth something; and `reprokit diagnose` names what is planted.

Marks, forms and kinds are checked for every program without the tool; a few programs are diagnosed here, and
all of them under ``slow``. What a full run says is in docs/evidence/diagnose-results.md.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from manifest import CLEAN, HERE, PLANTED  # noqa: E402
from score import laid_out, score, sums, why_not  # noqa: E402

from support import places  # noqa: E402
from support.kept_python import CannotBeMadeError, kept_byte_code, kept_python  # noqa: E402

CATEGORIES = set(
    "unseeded_rng hash_order file_order clock process_identity concurrency uninitialised_memory environment "
    "resume_state leftover_state nondeterministic_kernel simulator nonportable_numerics unknown".split()
)
GIVEAWAYS = re.compile(
    r"\b(faults?|decoys?|planted|swapped|suspicious)\b|nondetermin|reproduc", re.IGNORECASE
)
THINNED = ("python_random",)
FORMS = [
    pytest.param(p, s, id=f"{p.name}-{'swapped' if s else 'planted'}") for p in PLANTED for s in (False, True)
]


def _named(programs):
    return [pytest.param(one, id=one.name) for one in programs]


def _enclosing(tree: ast.Module, line: int) -> str:
    inside = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= node.end_lineno
    ]
    return inside[-1] if inside else ""


def _assigned(source: str, line: int) -> str:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and node.lineno == line == node.end_lineno:
            return ast.unparse(node.targets[0])
    raise AssertionError(f"line {line} is not one assignment")


def _leaves(program, folder: Path, environment: dict[str, str], run: str) -> bytes:
    run_dir = folder.parent / run
    done = subprocess.run(
        [sys.executable, "program.py", "--seed", "7", "--logdir", str(run_dir)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return (run_dir / "metrics.jsonl").read_bytes()


def test_there_are_enough_programs_and_no_two_of_a_kind():
    assert len(PLANTED) >= 40
    assert len(CLEAN) >= 12
    assert len({one.what for one in PLANTED}) == len({one.name for one in PLANTED}) == len(PLANTED)


def test_the_manifest_names_every_folder():
    assert {one.name for one in PLANTED} == {path.name for path in (HERE / "programs").iterdir()}
    assert {one.name for one in CLEAN} == {path.name for path in (HERE / "clean").iterdir()}


def test_every_category_but_unknown_is_planted():
    assert {one.category for one in PLANTED} == CATEGORIES - {"unknown"}


@pytest.mark.parametrize("program", _named(PLANTED))
def test_a_program_has_one_fault_and_a_decoy_of_another_kind_apart_from_it_in_one_function(program):
    (fault,), (decoy,) = program.lines("FAULT"), program.lines("DECOY")
    tree = ast.parse(program.marked)

    assert abs(fault - decoy) >= 5  # the lines around the one are not those around the other
    assert all(abs(one - decoy) >= 5 for one in program.lines("ALSO"))
    assert _enclosing(tree, fault) == _enclosing(tree, decoy) != ""
    assert program.decoy not in {program.category, *program.also}
    assert {program.category, program.decoy, *program.also} <= CATEGORIES


@pytest.mark.parametrize("program", _named(PLANTED))
def test_the_forms_differ_in_two_lines_whose_targets_are_exchanged(program):
    plain, swapped = program.source(), program.source(swapped=True)
    (fault,), (decoy,) = program.lines("FAULT"), program.lines("DECOY")

    different = [
        n
        for n, (one, other) in enumerate(zip(plain.splitlines(), swapped.splitlines(), strict=True), 1)
        if one != other
    ]
    assert different == sorted([fault, decoy])
    assert len(plain.splitlines()) == len(program.marked.splitlines())
    assert _assigned(plain, fault) == _assigned(swapped, decoy)
    assert _assigned(plain, decoy) == _assigned(swapped, fault)


@pytest.mark.parametrize("program", _named([*PLANTED, *CLEAN]))
def test_nothing_that_runs_gives_the_answer_away(program):
    for swapped in (False, True):
        source = program.source(swapped=swapped)
        compile(source, "program.py", "exec")
        assert not GIVEAWAYS.search(source)
        assert not [mark for mark in ("# FAULT", "# DECOY", "# ALSO") if mark in source]


def _or_skip(program):
    if reason := why_not(program):
        pytest.skip(reason)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "swapped"), FORMS)
def test_two_runs_differ_where_the_manifest_says_so(program, swapped):
    _or_skip(program)
    with laid_out(program, swapped=swapped) as (folder, environment):
        first, second = (_leaves(program, folder, environment, run) for run in ("a", "b"))
    assert (first != second) is (program.shows_by(swapped=swapped) == "repeat")


@pytest.mark.slow
@pytest.mark.parametrize("program", _named(CLEAN))
def test_runs_of_a_clean_program_are_equal(program):
    _or_skip(program)
    with laid_out(program) as (folder, environment):
        assert len({_leaves(program, folder, environment, run) for run in "abcde"}) == 1


@pytest.mark.parametrize("swapped", [False, True], ids=["planted", "swapped"])
@pytest.mark.parametrize("program", _named([one for one in PLANTED if one.name in THINNED]))
def test_the_cause_is_named_and_moves_when_the_two_are_swapped(program, swapped):
    found = score(program, swapped=swapped)
    assert found.found
    assert found.category_right, found
    assert found.line_right, found


def test_a_clean_program_is_not_accused():
    (program,) = [one for one in CLEAN if one.name == "sorted_set"]
    found = score(program)
    assert not found.found, found
    assert not found.trouble


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_results_of_ray_that_are_taken_in_order_of_completion_are_named_and_those_in_order_are_not():
    """In a Python of its own, which has Ray."""
    try:
        python = kept_python("engines", places.LOCKED, on_top=True)
    except CannotBeMadeError as problem:
        pytest.skip(str(problem))
    command = [str(python), str(HERE / "score.py"), "--only", "ray_wait", "--only", "ray_in_order", "--json"]
    done = subprocess.run(
        command,
        env={**os.environ, **kept_byte_code(python), "PYTHONPATH": str(places.SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    planted, swapped, clean = json.loads(done.stdout)["outcomes"]
    assert (planted["category"], planted["category_right"], planted["line_right"]) == (
        "concurrency",
        True,
        True,
    )
    assert (swapped["category_right"], swapped["line_right"]) == (True, True), swapped
    assert (clean["found"], clean["trouble"]) == (False, ""), clean


@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("quarter", range(4))
def test_a_quarter_of_the_suite_is_diagnosed_as_well_as_promised(quarter):
    outcomes = [
        score(program, swapped=swapped)
        for program in [*PLANTED[quarter::4], *CLEAN[quarter::4]]
        if not why_not(program)
        for swapped in ((False, True) if program in PLANTED else (False,))
    ]
    faulty = [one for one in outcomes if one.form != "clean"]
    named = [one for one in faulty if one.line is not None]
    told = f"{sums(outcomes)}\n" + "\n".join(str(one) for one in outcomes if not one.category_right)

    assert all(one.found for one in faulty), told
    assert sum(one.category_right for one in faulty) >= 0.9 * len(faulty), told
    assert sum(one.line_right for one in named) >= 0.8 * len(named), told
    assert not any(one.found or one.trouble for one in outcomes if one.form == "clean"), told
