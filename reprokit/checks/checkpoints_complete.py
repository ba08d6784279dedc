"""Row ``checkpoints_complete``: every promised checkpoint is there, unchanged, and loads.

Promised are the first end of an update at or after every ``logging.save_interval``, and the final model.
Where the recipe keeps only the last ones (``checkpoints.keep``), these must be there, and MANIFEST.json must
hold the digest of every other one. That a checkpoint loads was shown inside the environment that wrote it.
Of an unmodified program with ``instrument: light`` those are promised that fit a pattern under ``outputs``;
every tensor of them is in ``metrics.jsonl``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.verdicts.rows import Finding, counted, failed_runs, not_applicable, passed, skipped
from reprokit.layout import FINAL_MODEL, TENSOR_FILES

ID = "checkpoints_complete"
TITLE = "Checkpoints are there at the promised interval, unchanged and loadable"
ORDER = 140
ADVISORY = False
NEEDS_RECIPE = True
NEEDS_WATCH = True
NEEDS_WHOLE_RUNS = True

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_OUTPUT = "output/"
_DECLARE = "declare the checkpoints that must repeat: `outputs: ['*.pt']`"
_PLAIN = "save plain tensors and numbers (a `state_dict`, safetensors), which are read without running code"
_AGAIN = "run it again; if this happens again, look at the trainer's calls of reprokit.runtime's checkpoint"


def check(evidence: Evidence) -> Finding:
    """Every run's checkpoints; of a watched program those among its declared output files."""
    if (evidence.recipe or {}).get("instrument"):
        return _of_watched(evidence)
    keep = fact(evidence.recipe, "checkpoints.keep")
    if broken := failed_runs(evidence, lambda run: _problem(run, keep), _promise(evidence.runs) or _AGAIN):
        return broken
    names = sorted(evidence.runs[0].checkpoints)
    count = "1 checkpoint" if len(names) == 2 else f"{len(names) - 1} checkpoints"
    removed = sorted(evidence.runs[0].checkpoints_removed)
    kept = f" (checkpoints.keep: {keep}; {counted(len(removed), 'earlier digest')})" if removed else ""
    reason = f"{count}{kept} and the final model, all unchanged and loadable, in every run"
    return passed(reason, checkpoints=names, **({"removed": removed} if removed else {}))


def _of_watched(evidence: Evidence) -> Finding:
    """The output files of a command that are checkpoints: the host has read them when the run had ended."""
    if not (evidence.recipe or {}).get("outputs"):
        return not_applicable("the recipe declares no output file", _DECLARE)
    if not evidence.runs:
        return skipped("there is no run to look at", _AGAIN)
    files, tensors = set[str](), set[str]()
    for run in evidence.runs:
        names = [name for name in run.metric_names if name.startswith(_OUTPUT)]
        found = {name for name in names if name.endswith(TENSOR_FILES)}
        read = {name: [one for one in names if one.startswith(f"{name}:")] for name in found}
        for name in sorted(found):
            if not read[name]:
                return skipped(f"{run.path}: {name} was not read: it is compared by its bytes alone", _PLAIN)
        files |= found
        tensors.update(*read.values())
    if not files:
        return not_applicable("no declared output file is a checkpoint", _DECLARE)
    reason = (
        f"{counted(len(files), 'checkpoint')} with {counted(len(tensors), 'tensor')}, read without running "
        "code that may be in them, in every run"
    )
    return passed(reason, checkpoints=sorted(files))


def _promise(runs: Sequence[RunEvidence]) -> str:
    """What the recipe must say where it promises no checkpoint; "" where it promises some."""
    ends = [fact(run.config, "training.total_timesteps") for run in runs if not _is_promised(run)]
    if not ends:
        return ""
    most = f", at most {ends[0]}" if is_integer(ends[0]) and ends[0] > 0 else ""
    return f"set logging.save_interval in recipe.yaml to a number of steps{most}"


def _is_promised(run: RunEvidence) -> bool:
    interval, end = fact(run.config, "logging.save_interval"), fact(run.config, "training.total_timesteps")
    return is_integer(interval) and is_integer(end) and 0 < interval <= end


def _problem(run: RunEvidence, keep: Any) -> str:
    interval, end = fact(run.config, "logging.save_interval"), fact(run.config, "training.total_timesteps")
    if is_integer(interval) and is_integer(end) and interval > end:
        return f"no checkpoint is due: one every {interval} steps, and the training ends after {end}"
    if not _is_promised(run):
        return f"config.yaml promises no checkpoints: one every {interval!r} of {end!r} steps"
    missing = _missing(run, interval, end, keep)
    if missing:
        return missing
    for name, entry in sorted(run.checkpoints.items()):
        spoilt = _spoilt(name, entry)
        if spoilt:
            return f"{name}: {spoilt}"
    return ""


def _missing(run: RunEvidence, interval: int, end: int, keep: Any) -> str:
    """The first promised file that is not there, and may not be away."""
    if not all(map(is_integer, run.update_steps)):
        return "trace.jsonl has an update at a step that is not a whole number"
    boundaries, promised = sorted(run.update_steps), dict[str, int]()
    for due in range(interval, end + 1, interval):
        index = bisect_left(boundaries, due)
        if index == len(boundaries):
            return f"no update ended at or after step {due}, so no checkpoint can be due there"
        promised.setdefault(f"checkpoint_{boundaries[index]}.pt", due)
    if not run.checkpoints_removed.keys() <= promised.keys():
        return (
            f"MANIFEST.json lists removed checkpoints that were never due: {sorted(run.checkpoints_removed)}"
        )
    stay = list(promised)[-keep:] if is_integer(keep) and keep > 0 else list(promised)
    for name, due in promised.items():
        if name not in run.checkpoints and (name in stay or not _remembered(run, name)):
            return f"{name} is missing (due at step {due})"
    return "" if FINAL_MODEL in run.checkpoints else f"{FINAL_MODEL} is missing"


def _remembered(run: RunEvidence, name: str) -> bool:
    """Whether MANIFEST.json holds step and digest of a checkpoint that was written and not kept."""
    entry = run.checkpoints_removed.get(name, {})
    digest, step = entry.get("sha256"), entry.get("step")
    return isinstance(digest, str) and bool(_DIGEST.fullmatch(digest)) and name == f"checkpoint_{step}.pt"


def _spoilt(name: str, entry: Mapping[str, Any]) -> str:
    step = entry.get("step")
    if name != FINAL_MODEL and (not is_integer(step) or name != f"checkpoint_{step}.pt"):
        return f"its name does not match its step {step!r}"
    if entry.get("sha256_ok") is not True:
        return "its digest differs from MANIFEST.json"
    if entry.get("loadable") is not True:
        return f"it was not shown to load: {entry.get('reason') or 'never tried'}"
    return ""
