"""Realistic reports, one for each verdict, that every format is drawn from in the tests."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from reprokit.core.checklist import CheckResult, Report, Status, Verdict, exit_code
from reprokit.core.comparing.difference import Comparison, Divergence, MetricSummary, NearbyRecord, Problem
from reprokit.core.extension_record import ReportedSection, SectionTable
from reprokit.core.report_parts import (
    Attribution,
    AttributionCell,
    CodeChanges,
    DrawnCurve,
    FileChange,
    ReportComparisons,
    TraceMap,
    TraceRow,
)

METRICS = (
    "charts/episodic_return",
    "charts/episodic_length",
    "losses/policy_loss",
    "losses/value_loss",
    "losses/entropy",
    "losses/approx_kl",
)
DIVERGED_AT = 43_008

_RUNS = (
    "runs/cartpole_baseline/20261120T101500Z-5f2a-seed42-1",
    "runs/cartpole_baseline/20261120T101500Z-5f2a-seed42-2",
)
_GOLDEN = "golden/cartpole_baseline/cpu-x86_64/seed-42"

_SENTENCES = {
    Verdict.REPRODUCED: "2 runs agree with each other and with the golden, bit for bit.",
    Verdict.EQUIVALENT: (
        "By the ensemble of 4 seeds, no difference was found with 3 new seeds, and a worsening as large as "
        "the margin is excluded: evaluation/return -2.5 [-21.25, 16.5], margin 25. "
        f"2 runs agree, but differ from the golden from step {DIVERGED_AT} on, beyond the declared tolerance."
        " Equivalent results, not equal numbers."
    ),
    Verdict.REPEATABLE: "2 runs agree with each other, bit for bit.",
    Verdict.NONDETERMINISTIC: f"Two runs with the same seed differ from step {DIVERGED_AT} on.",
    Verdict.REGRESSION: (
        f"2 runs agree, but differ from the golden from step {DIVERGED_AT} (record 20, metric "
        "losses/policy_loss) on, in an environment that computes the same; changed since then: trainer."
    ),
    Verdict.STALE_GOLDEN: (
        f"2 runs agree, but differ from the golden from step {DIVERGED_AT} on, in another environment: "
        "inside.packages.torch was 2.12.1+cpu, is 2.13.0+cpu."
    ),
    Verdict.NO_GOLDEN: (
        "2 runs agree with each other in every metric, bit for bit; there is no golden for cpu-x86_64 with "
        "seed 42."
    ),
    Verdict.CHECK_FAILED: "2 runs agree, but a required check failed: Checkpoints are complete.",
    Verdict.UNJUDGED: "2 runs agree, but a required check could not be judged: Environment recorded.",
    Verdict.NOT_RUN: "A run did not finish: the program used more memory than its limit of 2.0 GiB.",
}
_AWAY_FROM_GOLDEN = {Verdict.REGRESSION, Verdict.STALE_GOLDEN, Verdict.EQUIVALENT}
_NEXT = {
    Verdict.NONDETERMINISTIC: f"reprokit diff {_RUNS[0]} {_RUNS[1]}",
    Verdict.REGRESSION: f"git log --oneline -5 -- {_GOLDEN} recipes/",
    Verdict.STALE_GOLDEN: f"reprokit env diff {_GOLDEN} {_RUNS[0]}",
    Verdict.NO_GOLDEN: "reprokit golden promote cartpole_baseline --seed 42 --reason 'first golden'",
    Verdict.CHECK_FAILED: f"reprokit report show {_RUNS[0]} {_RUNS[1]}",
    Verdict.UNJUDGED: f"reprokit report show {_RUNS[0]} {_RUNS[1]}",
    Verdict.NOT_RUN: "reprokit doctor",
}
_LOG_TAIL = """\
\x1b[32mupdate 12/49\x1b[0m  return 23.8  14,900 steps/s
\x1b[32mupdate 13/49\x1b[0m  return 24.1  14,870 steps/s
Traceback (most recent call last):
  File "/mnt/reprokit/recipes/trainers/ppo.py", line 212, in update
    loss.backward()
RuntimeError: [enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator: can't allocate memory
"""


_CELL = ("code", "environment", "result", "detail")
_CODE_CHANGES = CodeChanges(
    commit="9c1b7e02",
    files=(
        FileChange(
            path="recipes/cartpole_baseline/recipe.yaml",
            added=1,
            removed=1,
            diff=("@@ -1,3 +1,3 @@", " training:", "-  gamma: 0.99", "+  gamma: 0.98", " device: cpu"),
        ),
        FileChange(path="recipes/trainers/new.py", added=None, removed=0),
    ),
)
_ATTRIBUTION = Attribution(
    answer="code",
    sentence="the golden's code still gives the golden in today's environment",
    golden_commit="9c1b7e02",
    cells=tuple(
        AttributionCell(**dict(zip(_CELL, cell, strict=True)))
        for cell in (
            ("golden's", "golden's", "equal", ""),
            ("golden's", "today's", "equal", ""),
            ("today's", "golden's", "not run", "no such package"),
            ("today's", "today's", "differs", "from step 2048 on, losses/policy_loss"),
        )
    ),
)


_TRAINER = "recipes/trainers/ppo.py"
_CAUSE = {
    "verdict": "NONDETERMINISTIC",
    "divergence": {
        "record": 20,
        "step": DIVERGED_AT,
        "metric": "losses/policy_loss",
        "expected": 0.5,
        "actual": 0.25,
    },
    "cause": None,
    "causes": [
        {
            "category": "unseeded_rng",
            "file": _TRAINER,
            "line": 88,
            "function": "_update",
            "source": "order = np.random.permutation(len(batch))",
            "what": "np.random.permutation: draws from a generator that was never seeded",
            "fix": "seed it from a setting, or pass a seeded generator",
            "confidence": "high",
        }
    ],
    "variation": None,
    "known": ["operation by operation: aten.index_put.default gives a different output for the same inputs"],
    "ruled_out": [
        {"what": f"{_TRAINER}:120 (clock)", "how": "the runs are equal even where this is left free"}
    ],
    "not_varied": [{"what": "which of the GPUs computes", "how": "there is no GPU here"}],
    "tried": [
        {
            "what": "the program under equal conditions",
            "runs": 4,
            "outcome": "2 different, 1 equal to the first run",
        },
        {
            "what": "values of some lines held as recorded, all other lines left free",
            "runs": 5,
            "outcome": "5 different",
        },
    ],
    "taps": [
        {
            "category": "unseeded_rng",
            "kind": "unseeded",
            "file": _TRAINER,
            "line": 88,
            "function": "_update",
            "what": "np.random.permutation",
            "count": 48,
            "differs": True,
        },
        {
            "category": "clock",
            "kind": "clock",
            "file": _TRAINER,
            "line": 120,
            "function": "train",
            "what": "",
            "count": 49,
            "differs": True,
        },
    ],
    "replay": ["reprokit diagnose cartpole_baseline --seed 42"],
    "folder": "reports/cartpole_baseline/20261120T101700Z-1a2b-diagnose",
    "runs": 9,
}


def sample_report(verdict: Verdict) -> Report:
    """A complete report with this verdict."""
    differs = verdict in {Verdict.NONDETERMINISTIC, *_AWAY_FROM_GOLDEN}
    against_golden = verdict not in {Verdict.REPEATABLE, Verdict.NO_GOLDEN, Verdict.NOT_RUN}
    return Report(
        verdict=verdict,
        exit_code=exit_code(verdict),
        sentence=_SENTENCES[verdict],
        next_command=_NEXT.get(verdict, ""),
        recipe="train.py" if verdict is Verdict.REPEATABLE else "cartpole_baseline",
        platform="cpu-x86_64",
        seed=42,
        runs=_RUNS[:1] if verdict is Verdict.NOT_RUN else _RUNS,
        golden=_GOLDEN if against_golden else None,
        environment_diff=_environment_diff(verdict) if against_golden else (),
        divergence=Divergence(**_divergence()) if differs else None,
        checks=_checks(verdict),
        timing={
            "phases": {"image": 0.62, "capture": 0.21, "train": 9.874, "judge": 0.113},
            "runs": [
                {"run_id": path.rsplit("/", 1)[1], "duration_s": 9.5 + index / 10, "backend": "docker"}
                for index, path in enumerate(_RUNS)
            ],
        },
        curves={} if verdict is Verdict.NOT_RUN else _curves(verdict),
        environment=_environment(),
        comparisons=_comparisons(verdict, against_golden=against_golden),
        created_at="2026-11-20T10:15:31+00:00",
        command="reprokit reproduce cartpole_baseline --seed 42",
        rerun=(
            "reprokit reproduce --seed 42 -- python train.py --seed {seed} --logdir {run_dir}"
            if verdict is Verdict.REPEATABLE
            else "make reproduce RECIPE=cartpole_baseline SEED=42"
        ),
        not_run=_not_run() if verdict is Verdict.NOT_RUN else None,
        recipe_file=None if verdict is Verdict.REPEATABLE else "recipes/cartpole_baseline/recipe.yaml",
        recipe_lines={"tolerances": 61, "expected": 55, "logging.save_interval": 48, "seeds": 9},
        code_changes=_CODE_CHANGES if verdict is Verdict.REGRESSION else None,
        attribution=_ATTRIBUTION if verdict is Verdict.REGRESSION else None,
        cause=_CAUSE if verdict is Verdict.NONDETERMINISTIC else None,
        statistical=_statistical("evaluation/return") if verdict is Verdict.EQUIVALENT else None,
        nearby=_nearby() if differs else (),
        trace=_trace("gradients.policy_weight") if differs else None,
    )


def _trace(name: str) -> TraceMap:
    rows = (
        (name, "=" * 10 + "x" * 12),
        ("parameters.policy_weight", "=" * 11 + "x" * 11),
        ("random.numpy", "=" * 21 + "x"),
    )
    return TraceMap(
        updates=tuple(range(1, 23)),
        first=10,
        rows=tuple(TraceRow(name=row, cells=cells) for row, cells in rows),
        num_cut=2,
        num_equal=14,
    )


def _nearby() -> tuple[NearbyRecord, ...]:
    first = _divergence()
    values = ((-0.5, -0.5), (first["expected"], first["actual"]), (-0.25, None))
    return tuple(
        NearbyRecord(
            record=first["record"] + at,
            step=first["step"] + 2048 * at,
            expected=expected,
            actual=actual,
            is_divergence=at == 0,
        )
        for at, (expected, actual) in enumerate(values, start=-1)
    )


def _statistical(metric: str) -> dict[str, Any]:
    """What an ensemble of four seeds says of three new ones."""
    judged = {
        "name": metric,
        "margin": 25.0,
        "num_reference": 4,
        "num_new": 3,
        "reference_mean": 491.5,
        "new_mean": 489.0,
        "difference": -2.5,
        "difference_low": -21.25,
        "difference_high": 16.5,
        "excludes_margin": True,
        "direction": "worse",
        "differs": False,
        "p_value": 0.4,
        "adjusted_p_value": 0.4,
        "smallest_possible_p_value": 0.057,
        "power_at_margin": 0.91,
        "smallest_visible_drop": 19.5,
        "num_not_finite": [0, 0],
        "zero_variance": False,
    }
    return {
        "reference": {str(seed): {metric: 490.0 + seed} for seed in range(4)},
        "new": {str(seed): {metric: 485.0 + 2 * (seed - 4)} for seed in range(4, 7)},
        "outcome": {
            "conclusion": "EQUIVALENT",
            "looks": [{"num_new": 3, "level": 0.0045, "metrics": [judged]}],
            "num_unused": 0,
            "seeds_more": None,
            "reason": "no difference was found with 3 new seeds",
        },
        "margins": {metric: 25.0},
        "rates": {
            "false_alarms_at_most": 0.05,
            "wrong_passes_at_most": 0.025,
            "wrong_passes_at_margin": {metric: 0.025},
            "power_asked": 0.8,
            "one_seed_in_five_passes": [0.08, 0.11],
            "one_seed_in_five_hits_none": 0.512,
        },
    }


def with_text(report: Report, text: str) -> Report:
    """The report with one text in every place that the program under test, or its author, can fill."""
    return dataclasses.replace(
        report,
        sentence=text,
        next_command=text,
        recipe=text,
        platform=text,
        runs=(text,),
        golden=text,
        environment_diff=[
            {"field": text, "expected": text, "actual": text, "can_change_numbers": "maybe", "why": text}
        ],
        divergence=Divergence(
            **{
                **_divergence(),
                "step": text,
                "metric": text,
                "expected": text,
                "actual": text,
                "what": text,
            }
        ),
        checks=tuple(
            CheckResult(id=text, title=text, status=status, reason=text, remedy=text, evidence={text: text})
            for status in Status
        ),
        timing={text: text, "phases": {text: 1.0}},
        curves={text: [DrawnCurve(label=text, steps=[0, 1, 2], values=[0.0, 1.0, 0.5])]},
        environment={text: text, "group": {text: text}, f"{text}2": {text: [text]}},
        comparisons=ReportComparisons(repeats=(_hostile_comparison(text),), golden=_hostile_comparison(text)),
        created_at=text,
        command=text,
        rerun=text,
        not_run={"outcome": text, "message": text, "remedy": text, "log_tail": f"{text}\n{text}"},
        recipe_file=text,
        code_changes=CodeChanges(
            commit=text, files=(FileChange(path=text, added=1, removed=2, diff=(text, f"+{text}")),), why=text
        ),
        attribution=Attribution(
            answer=text, sentence=text, cells=(AttributionCell(**dict.fromkeys(_CELL, text)),)
        ),
        cause=hostile_cause(text),
        statistical=_statistical(text),
        nearby=(NearbyRecord(record=20, step=text, expected=text, actual=text, is_divergence=True),),
        trace=_trace(text),
        sections=tuple(hostile_section(text, problem=problem) for problem in ("", text)),
    )


def hostile_section(text: str, *, problem: str) -> ReportedSection:
    """What an extension writes that calls everything by this text."""
    return ReportedSection(
        extension=text,
        version=text,
        name=text,
        title=text,
        paragraphs=(text,),
        tables=(SectionTable(head=(text, text), rows=((text, text),)),),
        problem=problem,
    )


def hostile_cause(text: str) -> dict[str, Any]:
    """What a diagnosis of a program says whose every name is this text."""
    words = ("category", "file", "line", "function", "what", "fix", "confidence", "kind", "count", "how")
    row = dict.fromkeys(words, text)
    return {
        "verdict": "NONDETERMINISTIC",
        "divergence": {**_divergence(), "update": text, "stream": text, "event": text},
        "causes": [row],
        "variation": text,
        "known": [text],
        "ruled_out": [row],
        "not_varied": [row],
        "tried": [{"what": text, "runs": text, "outcome": text}],
        "limits": [text],
        "taps": [{**row, "differs": True}],
        "replay": [text],
        "folder": text,
        "runs": text,
        "proposals": [
            _proposal(text),
            {**_proposal(text), "held_by": text},
            {**_proposal(text), "problem": text},
        ],
    }


def _proposal(text: str) -> dict[str, Any]:
    names = ("extension", "version", "category", "what", "fix", "file", "confidence", "ruled_out")
    return {**dict.fromkeys(names, text), "line": 3, "held_by": "", "problem": ""}


def with_rows(report: Report, texts: list[str]) -> Report:
    """The report with a row, a curve and a difference for each text."""
    statuses = list(Status)
    return dataclasses.replace(
        report,
        checks=tuple(
            CheckResult(id=text, title=text, status=statuses[index % 4], reason=text, remedy=text)
            for index, text in enumerate(texts)
        ),
        curves={text: [DrawnCurve(label=text, steps=[0, 1], values=[0.0, 1.0])] for text in texts},
        environment_diff=[
            {"field": text, "expected": text, "actual": text, "can_change_numbers": "maybe", "why": text}
            for text in texts
        ],
    )


def _hostile_comparison(text: str) -> Comparison:
    summary = MetricSummary(max_abs_error=1.0, max_rel_error=1.0, mismatches=1, first_step=text)
    problem = Problem(kind=text, side="both", line=1, message=text, severity="warning")
    return dataclasses.replace(_comparison(differs=True), per_metric={text: summary}, problems=(problem,))


def _divergence() -> dict[str, Any]:
    return {
        "record": 20,
        "step": DIVERGED_AT,
        "metric": "losses/policy_loss",
        "expected": -0.012345678901234567,
        "actual": -0.012345678901234569,
        "abs_error": 1.734723475976807e-18,
        "rel_error": 1.4051260155412137e-16,
        "ulps": 1,
        "what": "the values differ",
    }


def _row(
    row_id: str,
    title: str,
    reason: str,
    *,
    status: Status = Status.PASSED,
    remedy: str = "",
    required: bool = True,
) -> CheckResult:
    return CheckResult(
        id=row_id, title=title, status=status, reason=reason, remedy=remedy, evidence={}, required=required
    )


def _checks(verdict: Verdict) -> tuple[CheckResult, ...]:
    if verdict is Verdict.NOT_RUN:
        missing = "no run finished"
        return tuple(
            _row(row.id, row.title, missing, status=Status.SKIPPED, remedy="get the run to finish first")
            for row in _checks(Verdict.REPRODUCED)[:6]
        )
    fails = {
        Verdict.NONDETERMINISTIC: (
            "repeatable",
            Status.FAILED,
            f"run 2 differs from run 1 at step {DIVERGED_AT}",
        ),
        Verdict.REGRESSION: (
            "equals_golden",
            Status.FAILED,
            f"differs from the golden at step {DIVERGED_AT}",
        ),
        Verdict.STALE_GOLDEN: (
            "equals_golden",
            Status.FAILED,
            f"differs from the golden at step {DIVERGED_AT}",
        ),
        Verdict.EQUIVALENT: (
            "equals_golden",
            Status.SKIPPED,
            f"differs from the golden at step {DIVERGED_AT}; the ensemble decides: no difference was found",
        ),
        Verdict.NO_GOLDEN: ("equals_golden", Status.SKIPPED, "there is no golden for this platform and seed"),
        Verdict.CHECK_FAILED: (
            "checkpoints_complete",
            Status.FAILED,
            "checkpoint_60000.pt is missing: 9 of 10 are there",
        ),
        Verdict.UNJUDGED: (
            "environment_recorded",
            Status.ERROR,
            "KeyError: 'torch' in reprokit/checks/environment.py:41",
        ),
    }
    rows = [
        _row("repeatable", "Two runs are equal", "all 49 records of 12 metrics are equal, bit for bit"),
        _row("equals_golden", "Equal to the golden", "all 49 records of 12 metrics are equal, bit for bit"),
        _row(
            "trace_equal",
            "Parameters and random states are equal after every update",
            "49 updates, each with the same digests",
        ),
        _row(
            "versions_locked",
            "Versions recorded and locked",
            "31 packages, all as in images/cpu/requirements.lock",
        ),
        _row(
            "environment_recorded",
            "Environment recorded",
            "hardware, software and numerics settings are on record",
        ),
        _row("config_saved", "Configuration saved", "config.yaml is what the recipe says, 34 settings"),
        _row(
            "checkpoints_complete",
            "Checkpoints are complete",
            "10 checkpoints and the final model, all loadable",
        ),
        _row("logs_complete", "Logs and metrics complete", "49 records, last step 100352, as planned"),
        _row(
            "pinned_image",
            "Ran in the pinned image",
            "sha256:5f2a0c1b9e77, built from the lock",
            required=False,
        ),
        _row(
            "hardened",
            "Container hardened",
            "no network, read-only root, no capabilities, uid 65532",
            required=False,
        ),
        _row(
            "source_clean",
            "Source is clean",
            "2 files differ from commit 4be1c02: recipes/trainers/ppo.py, README.md",
            status=Status.FAILED,
            remedy="commit the changes, then run again",
            required=False,
        ),
        _row(
            "data_recorded",
            "Data steps recorded",
            "the recipe has no data",
            status=Status.SKIPPED,
            remedy="nothing: this row does not apply",
            required=False,
        ),
        _row(
            "statistics",
            "Several seeds and statistics",
            "one seed was asked for",
            status=Status.SKIPPED,
            remedy="run each of them: `reprokit reproduce cartpole_baseline --seed N`",
            required=False,
        ),
    ]
    row_id, status, reason = fails.get(verdict, ("", Status.PASSED, ""))
    remedy = "see the first divergence, and what changed before it"
    return tuple(
        dataclasses.replace(row, status=status, reason=reason, remedy=remedy) if row.id == row_id else row
        for row in rows
    )


def _environment_diff(verdict: Verdict) -> list[dict[str, Any]]:
    if verdict is not Verdict.STALE_GOLDEN:
        return []
    rows = [
        ("inside.packages.torch", "2.12.1+cpu", "2.13.0+cpu", "yes", "the kernels that compute"),
        ("host.cpu.model", "AMD EPYC 7B13", "Intel(R) Xeon(R) 8481C", "no", "no bit depends on it"),
        ("inside.glibc", "2.36", "2.39", "yes", "exp, log and their kin come from it"),
        ("inside.variables.FOO", None, "1", "maybe", "its effect is not documented"),
        ("host.kernel", "6.1.0-21-amd64", "6.1.0-28-amd64", "no", "not seen by the training"),
    ]
    return [
        {"field": name, "expected": expected, "actual": actual, "can_change_numbers": can, "why": why}
        for name, expected, actual, can, why in rows
    ]


def _comparison(*, differs: bool) -> Comparison:
    errors = {
        "losses/policy_loss": (3.1e-3, 0.27, 29, DIVERGED_AT),
        "losses/value_loss": (4.25, 0.0817, 28, 45_056),
        "charts/episodic_return": (61.5, 0.334, 24, 51_200),
        "losses/approx_kl": (1.2e-4, 0.0419, 28, 45_056),
    }
    equal = MetricSummary(max_abs_error=0.0, max_rel_error=0.0, mismatches=0, first_step=None)
    per_metric = dict.fromkeys(METRICS, equal)
    if differs:
        for name, (max_abs, max_rel, mismatches, first) in errors.items():
            per_metric[name] = MetricSummary(
                max_abs_error=max_abs, max_rel_error=max_rel, mismatches=mismatches, first_step=first
            )
    return Comparison(
        identical=not differs,
        within_tolerance=not differs,
        records_compared=49,
        metrics_compared=12,
        divergence=Divergence(**_divergence()) if differs else None,
        per_metric=per_metric,
    )


def _comparisons(verdict: Verdict, *, against_golden: bool) -> ReportComparisons:
    if verdict is Verdict.NOT_RUN:
        return ReportComparisons()
    to_golden = verdict in {*_AWAY_FROM_GOLDEN, Verdict.NONDETERMINISTIC}
    return ReportComparisons(
        repeats=(_comparison(differs=verdict is Verdict.NONDETERMINISTIC),),
        golden=_comparison(differs=to_golden) if against_golden else None,
    )


def _curves(verdict: Verdict) -> dict[str, list[DrawnCurve]]:
    steps = [2048 * (index + 1) for index in range(49)]
    labels = ["run 1", "run 2"]
    if verdict not in {Verdict.REPEATABLE, Verdict.NO_GOLDEN}:
        labels.append("golden")
    odd = {Verdict.NONDETERMINISTIC: {"run 2"}, Verdict.REGRESSION: {"run 1", "run 2"}}
    odd[Verdict.STALE_GOLDEN] = odd[Verdict.REGRESSION]
    return {
        name: [
            DrawnCurve(
                label=label,
                steps=steps,
                values=[
                    _value(name, step, shifted=label in odd.get(verdict, set()) and step >= DIVERGED_AT)
                    for step in steps
                ],
            )
            for label in labels
        ]
        for name in METRICS
    }


def _value(name: str, step: int, *, shifted: bool) -> float | None:
    share = step / 100_352
    wave = math.sin(step / 3_000) * (1 - share)
    drift = (share - DIVERGED_AT / 100_352) if shifted else 0.0
    if name.endswith("episodic_return") and step < 4_000:
        return None  # no episode has ended yet
    shapes = {
        "charts/episodic_return": 500 / (1 + math.exp(-10 * (share - 0.4))) + 18 * wave - 260 * drift,
        "charts/episodic_length": 500 / (1 + math.exp(-10 * (share - 0.4))) + 18 * wave - 260 * drift,
        "losses/policy_loss": -0.012 * (1 - share) + 0.004 * wave + 0.011 * drift,
        "losses/value_loss": 48 * math.exp(-4 * share) + 2 * wave + 12 * drift,
        "losses/entropy": 0.693 - 0.18 * share + 0.004 * wave,
        "losses/approx_kl": 0.0061 + 0.0021 * wave - 0.003 * drift,
    }
    return shapes[name]


def _environment() -> dict[str, Any]:
    return {
        "schema": 1,
        "hardware": {
            "cpu_model": "AMD EPYC 7B13",
            "num_cores": 2,
            "memory_bytes": 8_337_973_248,
            "gpus": [],
            "gpus_missing_because": "no NVIDIA driver on this machine",
        },
        "os": {"system": "Linux", "kernel": "6.1.0-28-amd64", "glibc": "2.36"},
        "python": {"version": "3.11.2", "implementation": "CPython", "executable": "/opt/venv/bin/python"},
        "packages": {"gymnasium": "1.2.3", "numpy": "2.3.4", "torch": "2.13.0+cpu"},
        "numerics": {
            "profile": "portable",
            "variables": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE", "OMP_NUM_THREADS": "1"},
            "threads": 1,
            "deterministic_algorithms": True,
        },
        "source": {"commit": "4be1c02d9e0f4c1a8b7d6e5f4a3b2c1d0e9f8a7b", "branch": "main", "dirty": True},
        "image": {"digest": "sha256:5f2a0c1b9e77d3f4", "lock_digest": "sha256:8c11f2a0"},
    }


def _not_run() -> dict[str, Any]:
    return {
        "run": _RUNS[0],
        "outcome": "out_of_memory",
        "exit_code": 137,
        "signal": "SIGKILL",
        "message": "the program used more memory than its limit of 2.0 GiB",
        "remedy": "raise limits.memory_bytes in the recipe, or lower training.num_environments",
        "log_tail": _LOG_TAIL,
    }
