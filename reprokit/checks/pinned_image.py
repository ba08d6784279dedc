"""Row ``pinned_image``: the training ran in the image that was pinned, by content.

A virtual environment from the same lock is a choice, not a fault: SKIPPED.
"""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence
from reprokit.core.run_record import RunImage
from reprokit.core.verdicts.rows import Finding, failed_runs, passed, skipped, unjudged

ID = "pinned_image"
TITLE = "Ran in the pinned image"
ORDER = 190
ADVISORY = True
NEEDS_RECIPE = True

_IN_A_CONTAINER = "run it in a container: `reprokit doctor` says what is missing, `--backend docker` insists"


def check(evidence: Evidence) -> Finding:
    """The image ID that ran is the one that was resolved from the lock."""
    if (evidence.recipe or {}).get("variant") == "none":
        reason = "ran in an environment that nothing pins: the recipe's variant is none"
        return skipped(
            reason, "`reprokit image lock NAME --dependencies requirements.txt`, and `variant: NAME`"
        )
    kinds = {_image(run).kind for run in evidence.runs}
    if kinds == {"venv"}:
        reason = "ran in a virtual environment made from the same lock, not in a container"
        return skipped(reason, _IN_A_CONTAINER)
    if (evidence.recipe or {}).get("variant") == "none":
        return skipped("ran in this Python: the recipe's variant is none", "name a variant in recipe.yaml")
    if kinds != {"image"}:
        return unjudged("run.json does not say what the runs ran in", _IN_A_CONTAINER)
    if broken := failed_runs(evidence, _problem, "build it again from its lock: `reprokit image build`"):
        return broken
    images = sorted({str(_image(run).reference) for run in evidence.runs})
    bases = sorted({str(_image(run).base) for run in evidence.runs})
    return passed(f"ran in image {', '.join(images)}, made on {', '.join(bases)}", images=images, bases=bases)


def _problem(run: RunEvidence) -> str:
    pinned, ran = _image(run).reference, run.run.isolation.get("image")
    if pinned is None or not pinned.startswith("sha256:"):
        return f"the image is not pinned by content, but {pinned!r}"
    if ran != pinned:
        return f"ran in image {ran!r}, but {pinned} is the pinned one"
    if not _image(run).base:
        return "the base of the image is not recorded"
    return ""


def _image(run: RunEvidence) -> RunImage:
    return run.run.image or RunImage()
