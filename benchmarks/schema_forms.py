"""What verbs put together for ``--json`` where no record says it whole."""

from __future__ import annotations

from typing import Any

from json_schema import Changed, MapOf, OneOf, Plain

from reprokit.checkpoints import CheckpointDifference
from reprokit.core import checklist, evidence
from reprokit.core.comparing import difference
from reprokit.core.environment_record import DifferingFact
from reprokit.core.rounding import RoundingComparison
from reprokit.data import preparation
from reprokit.diagnosis import Began, Cause
from reprokit.diagnosis.operations import Operation
from reprokit.diagnosis.traces import Site
from reprokit.features.compare import answer as compared
from reprokit.features.learning.curve import Point
from reprokit.features.numerics import cpu_answer
from reprokit.features.selftest.score import ScoreRow
from reprokit.features.sweeps import runs_over_seeds
from reprokit.features.sweeps.statistics import describe, learning_curves, ranking, variability
from reprokit.features.tune.studies import StudyData
from reprokit.harness.curation.golden_diff import Moved
from reprokit.harness.diagnosing.across_machines import Across
from reprokit.harness.diagnosing.diagnosis import Diagnosis
from reprokit.images.housekeeping import Held
from reprokit.learning.answers import Answer
from reprokit.recipes.search_space import SettingData
from reprokit.reports.comparison_record import ComparisonRow
from reprokit.runs.sweeps import SweepMember

ANY = Plain({})
#: A document of a form that others define.
FOREIGN = Plain({"type": "object"})
TEXTS = list[str]
CODE = int


FILES = dict[str, dict[str, Any]]
COMPARISON_JSON = Changed(compared.Answer, {"exit_code": CODE, "sides": dict[str, compared.Side]})
DIVERGENCE = OneOf(
    None,
    Changed(
        difference.Divergence,
        {
            "update": int | None,
            "stream": str | None,
            "event": str | None,
            "rank?": int | None,
            "environment_steps?": int | None,
            "streams?": TEXTS,
            "generators?": dict[str, int],
            "equal_before?": str | None,
            "single_event?": bool,
        },
    ),
)
ODDS = {
    **dict.fromkeys(("pairs", "differ", "repeated", "looks", "wanted"), int),
    "by_replay": bool,
    "luck": float | None,
}
DIAGNOSIS = Changed(
    Diagnosis,
    {"divergence": DIVERGENCE, "cause": Cause | None, "odds": OneOf(None, ODDS)},
    without=("began", "equality"),
)
MEMBER = Changed(
    SweepMember, {"last_return": OneOf(None, {"metric": str, "value": float})}, without=("called",)
)
SWEEP = {"schema": int, "name": str, "mixed": bool}
SCORE = {
    "exit_code": CODE,
    "recipe": str,
    "seed": int,
    "faults": {"planted": int, "found": int},
    "clean": {"copies": int, "reproduced": int},
    "kinds": [ScoreRow],
    "misses": [
        {
            **dict.fromkeys(("id", "planted", "expected", "answer", "because", "replay"), str),
            "exit_code": CODE,
        }
    ],
    "not_planted": TEXTS,
    "notes": TEXTS,
}
MOVED = {
    "recipe": str,
    "platform": str,
    "seed": int | None,
    **{side: {"created_at": str, "reason": str, "runs_agreed": int} for side in ("old", "new")},
    "moved": [Moved],
    "settings": TEXTS,
    "inputs": TEXTS,
    "environment": [DifferingFact],
    "follows": bool,
    "comparison": difference.Comparison,
}
CPU_ANSWER = Changed(
    cpu_answer.CpuAnswer,
    {"guilty": list[dict[str, Any]], "first": dict[str, Any] | None, "exit_code": CODE},
)
MACHINE_ROW = {
    "recipe": str,
    "seed": int | None,
    "cpu": str,
    "machines": TEXTS,
    "verdict": str,
    "sentence": str,
    "exit_code": CODE,
    "runs": TEXTS,
    "folder": str | None,
}
WINDOW = Changed(
    describe.WindowStatistics,
    {
        "values": dict[str, float | None],
        "variability": Changed(variability.Variability, {"does_not_say": str}),
    },
)
METRIC = {"seeds": list[int], "windows": MapOf(WINDOW), "curve": learning_curves.Band}
STATISTICS = {
    "exit_code": CODE,
    "bootstrap_seed": int,
    "groups": [
        Changed(
            runs_over_seeds.SeedGroup,
            {
                "seeds": list[int],
                "notes": TEXTS,
                "metrics": MapOf(METRIC),
            },
        )
    ],
    "between": [{"first": str, "second": str, "metrics": [describe.Between]}],
    "sweep": str,
    "rankings": [
        {
            **dict.fromkeys(("metric", "window", "direction"), str),
            "settings": [{"group": str, "rank": int, "minus_best": ranking.Paired | None}],
            "num_comparisons": int,
        }
    ],
    "warnings": TEXTS,
    "score_does_not_say": TEXTS,
}
FACTS = {"commit": str | None, "source_changed": bool | None, "created_at": str}
AUDIT = {
    "follows": bool,
    "findings": TEXTS,
    "not_checked": TEXTS,
    "made_by": str,
    "verdict": checklist.Verdict,
    **FACTS,
    "unmet": TEXTS,
    "exit_code": CODE,
    "signed_by?": str,
}
TRACES = {
    "differing": [Site],
    "compared": int,
    "events": list[dict[str, int]],
    "began": Began | None,
    "operation": Operation | None,
}
FIELD = {"field": str, "values": [ANY], "differs": bool, "can_change_numbers?": str}
RUNS_COMPARED = {
    "runs": TEXTS,
    "warnings": TEXTS,
    "configuration": [FIELD],
    "source": [FIELD],
    "source_diff": TEXTS,
    "environment": [FIELD],
    "metrics": [FIELD],
    "comparisons": [difference.Comparison],
}
SOURCE_STATE = {
    **dict.fromkeys(("recipe", "name", "status", "problem", "sha256", "path", "declared_at"), str),
    "size": int | None,
    "unpack": str | None,
    "redistribute": bool,
    "places": TEXTS,
    "form": str | None,
    "licence": str | None,
}
PREPARED = Changed(
    preparation.PreparedData,
    {"schema": int, "key": str, "outputs": FILES},
)
MADE_FILES = {"sha256": str, "bytes": int}
SEARCH = Changed(
    StudyData,
    {
        "path": str,
        "fresh_seeds": OneOf(
            None,
            {
                "seeds": list[int],
                "values": list[float | None],
                "mean": float | None,
                "interval": list[float] | None,
                "tuned": float,
                "optimism": float | None,
                "messages": dict[str, str],
            },
        ),
        "saved": ANY,
        "warnings": TEXTS,
        "exit_code": CODE,
    },
)
ROW = {"line": int, "values": dict[str, Any]}
ROWS = {
    "identical": bool,
    "same_rows": bool,
    "rows_before": int,
    "rows_after": int,
    "came": [ROW],
    "went": [ROW],
    "changed": [
        {"key": ANY, "line_before": int, "line_after": int, "columns": MapOf({"before": ANY, "after": ANY})}
    ],
}
_WRITTEN_BUNDLE = {
    "file": str,
    "sha256": str,
    "recipe": str,
    "bytes": int,
    "archive_bytes": int,
    "files": dict[str, Any],
    "left_out": TEXTS,
    "data": [{"name": str, "sha256": str, "bytes": int | None, "licence": str | None, "bundled": bool}],
}
_CHECKED_BUNDLE = {
    "file": str,
    "sha256": str,
    "digest_was_given": bool,
    "of": str,
    "recipe": str,
    "platform": str,
    "seed": int,
    "commit": str,
    "tool": str,
    "files": TEXTS,
    "left_out": TEXTS,
}
BUNDLED = OneOf(_WRITTEN_BUNDLE, _CHECKED_BUNDLE)
CHECKPOINT = {
    "file": str,
    "step": int | None,
    "num_tensors": int,
    "loaded": bool | None,
    "problems": TEXTS,
    "refused": bool,
    "note": str,
}
IMAGES_REMOVED = {"removed": bool, "going": [Held], "kept": [Changed(Held, {"because": str})]}
SIDE_OF_DIFF = {"path": str, "fingerprint": str}
VERDICTS = {
    "exit_code": CODE,
    "reports": [
        OneOf(checklist.Report, {"recipe": str, "error": str}, {"recipe": str, "left_out": str}),
    ],
    "selftest?": [{"recipe": str, "trusted": bool, "because": str, "score": OneOf(None, SCORE)}],
    "comparisons?": [ComparisonRow],
}


ACROSS = Changed(
    Across,
    {
        "divergence": difference.Divergence | None,
        "event": Began | None,
        "rounds_differently": TEXTS,
        "known": TEXTS,
        "cause": None,
        "runs": TEXTS,
    },
    without=("comparison", "began", "rounds", "says", "folders"),
)
SPLIT = {
    "schema": int,
    "of": str,
    "key": TEXTS,
    "stratify": str | None,
    "salt": str,
    "parts": MapOf({"file": str, "rows": int, "share": float, "sha256": str}),
}
EXPORTED = {"schema?": int, "recipe?": str, "data?": dict[str, str], "files": MapOf(MADE_FILES)}
PAGE = {"kind": str, "title": str}
OF_TRACES = (TRACES, evidence.TraceComparison)
COMPARISON_AUDIT = {
    "follows": bool,
    "findings": TEXTS,
    "not_checked": TEXTS,
    "made_by": str,
    "answer": str | None,
    "exit_code": CODE,
}
STALE = {"promoted": bool, "goldens": [MOVED], "left": [{"golden": str, "because": str}]}
RUNS_REMOVED = {
    "removed": bool,
    "going": [{"path": str, "bytes": int}],
    "kept": [{"path": str, "because": str}],
}
WHOLE = {"run": str, "num_files": int, "problems": TEXTS}
STEP = Changed(PREPARED.record, {**PREPARED.also, "made_now": bool, "problem": str | None})
ENV_DIFF = {
    "same": bool,
    "expected": SIDE_OF_DIFF,
    "actual": SIDE_OF_DIFF,
    "differences": [DifferingFact],
}
ENV_EXPORT = {"files": TEXTS, "commands": TEXTS, "open": TEXTS}
IMAGE_SHOWN = {"image": str, "sbom": FOREIGN, "provenance": FOREIGN}
SWEEP_ASKED = {
    "members": [Changed(MEMBER.record, {**MEMBER.also, "action": str}, without=MEMBER.without)],
    "warnings": TEXTS,
    "path": str,
    "exit_code": CODE,
}
SWEEP_FOUND = {"members": [MEMBER], "warnings": TEXTS, "exit_code": CODE}
SETTING = Changed(SettingData, {"recipe": ANY})
DEMO = {"report": checklist.Report, "diagnosis": DIAGNOSIS}
INIT = {"recipe": str, "files": TEXTS, "found": dict[str, str], "problem": str, "next": TEXTS}
LEARNING = {"exit_code": CODE, "run": str, "probe": str | None, "answers": [Answer], "curve": [Point]}
CHECKPOINT_SHOWN = {
    "file": str,
    "sha256": str,
    "content": str,
    "values": dict[str, Any],
    "tensors": MapOf({"dtype": str, "shape": list[int]}),
}
CHECKPOINTS_COMPARED = {"files": TEXTS, "identical": bool, "differences": [CheckpointDifference]}
SHARED_ROWS = {
    "rows": int,
    "duplicates": int,
    "first": [{"table": str, "line": int, "earlier_table": str, "earlier_line": int}],
}
ROUNDING = {
    "numerics": dict[str, Any] | None,
    "probe": dict[str, Any],
    "comparison": RoundingComparison | None,
}
STORED_COMPARISON = Changed(
    compared.StoredAnswer, {"schema": int, "answer": COMPARISON_JSON, "asked?": dict[str, Any]}
)
SWEEP_FILE = {"schema": int, "name": str, "mixed?": bool, "members": [MEMBER]}
MACHINE_ROWS = {"exit_code": CODE, "rows": [MACHINE_ROW]}
TUNED = OneOf(SEARCH, {"space": MapOf(SETTING)})
CPU_ANSWERS = {"exit_code": CODE, "answers": [CPU_ANSWER]}
