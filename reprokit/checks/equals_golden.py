"""Row ``equals_golden``: the run is the golden again, within the recipe's tolerances (default 0/0)."""

from __future__ import annotations

from reprokit.core.comparison import Comparison
from reprokit.core.evidence import EnsembleEvidence, Evidence, GoldenEvidence, RunEvidence
from reprokit.core.verdicts.agreement import (
    difference,
    unresponsive,
    why_not_golden,
    why_not_repeated,
    why_not_responding,
)
from reprokit.core.verdicts.comparability import Objection
from reprokit.core.verdicts.ensemble_tier import (
    EQUIVALENT,
    excuses_difference,
    is_equivalent,
    is_member_again,
    may_decide,
    stats_options,
)
from reprokit.core.verdicts.rows import Finding, counted, failed, not_applicable, passed, skipped, unjudged

ID = "equals_golden"
TITLE = "The run equals the golden"
ORDER = 20
ADVISORY = False
NEEDS_RECIPE = True

_WHOLE = "let it end: `reprokit reproduce`, or `reprokit verify --no-watch-golden`"
_HOW_TO_GET_AN_ENSEMBLE = "`reprokit help gate-by-statistics` says how an ensemble is made and used"
_SAY_WHY = (
    "have the program use {seed}; if none of its metrics depends on it, say why in recipe.yaml: "
    "`unresponsive: {because: …}`"
)


def check(evidence: Evidence) -> Finding:
    """The first run against the golden; the row ``repeatable`` speaks for the others."""
    golden = evidence.golden
    if evidence.ensemble is not None and may_decide(evidence):
        asked = not evidence.ensemble.missing or excuses_difference(evidence)
        if asked:
            return _of_ensemble(evidence, evidence.ensemble)
    if golden is None:
        because = evidence.golden_missing_because or "there is no golden for this recipe, platform and seed"
        place = evidence.ensemble_not_asked
        named = {"ensemble_not_asked": place} if place else {}
        return skipped(because, _how_to_get_one(evidence), **_beside(evidence), **named)
    if not evidence.runs or not (evidence.runs[0].complete or evidence.runs[0].stopped_at_golden):
        return unjudged("there is no finished run to compare with the golden", "run it to the end")
    alien = _not_its_golden(evidence, golden, evidence.runs[0])
    if alien is not None:
        return unjudged(alien.about(golden.path).reason, "name the golden of this recipe, platform and seed")
    return (_against_foreign if golden.is_foreign else _against_own)(evidence, golden)


def _of_ensemble(evidence: Evidence, ensemble: EnsembleEvidence) -> Finding:
    """What the ensemble says of runs that equality and tolerance did not pass; never that they are equal."""
    told = {"ensemble": ensemble.path, "new_seeds": list(ensemble.runs), **_beside(evidence)}
    if is_member_again(evidence):
        return passed(f"equal to the run of their seed in {ensemble.path}, byte for byte", **told)
    tiers = {"exact": False, "approximate": False, "statistical": ensemble.conclusion == EQUIVALENT}
    golden = evidence.golden
    differs = f"differs from {golden.path} {difference(golden.comparison)}; " if golden else ""
    if is_equivalent(evidence):
        remedy = "to make it equal to a golden again, promote one: `reprokit golden promote RECIPE`"
        return not_applicable(
            f"{differs}the ensemble decides: {ensemble.reason}", remedy, tiers=tiers, **told
        )
    if ensemble.not_run or ensemble.problem or ensemble.missing:
        because = ensemble.not_run or ensemble.problem or ensemble.missing
        return unjudged(f"{differs}{because}", _HOW_TO_GET_AN_ENSEMBLE, tiers=tiers, **told)
    answer = unjudged if ensemble.conclusion == "UNJUDGED" else failed
    remedy = f"see the value of every new seed: `reprokit stats RECIPE{stats_options(ensemble)}`"
    return answer(f"{differs}the ensemble decides: {ensemble.reason}", remedy, tiers=tiers, **told)


def _against_own(evidence: Evidence, golden: GoldenEvidence) -> Finding:
    run, comparison = evidence.runs[0], golden.comparison
    if comparison.comparable and not comparison.within_tolerance:
        see = f"see what changed: `reprokit diff {golden.path} {run.path}`"
        may_be_promoted = not evidence.modified and _agree(evidence)
        remedy = f"{see}; promote it if the change is intended" if may_be_promoted else see
        if evidence.stopped_at_golden:
            remedy = f"{see}; to promote the change, make whole runs: `reprokit reproduce RECIPE`"
        why = f"differs from {golden.path} {difference(comparison)}"
        return failed(why, remedy, tiers=_tiers(comparison))
    if evidence.stopped_at_golden:
        return skipped("the first run does not differ up to where it was stopped; no more is known", _WHOLE)
    differs, silent = why_not_golden(evidence), why_not_responding(evidence)
    if objection := differs or silent:
        remedy = f"see both: `reprokit diff {golden.path} {run.path}`" if differs else _SAY_WHY
        return unjudged(objection.about(golden.path).reason, remedy, **_beside(evidence))
    how = "bit for bit" if comparison.identical else "within the recipe's tolerances, but not bit for bit"
    records = counted(comparison.records_compared, "record")
    metrics = counted(comparison.metrics_compared, "metric")
    return passed(
        f"equal to {golden.path} in {records} of {metrics}, {how}{_response(evidence)}",
        golden=golden.path,
        records=comparison.records_compared,
        metrics=comparison.metrics_compared,
        identical=comparison.identical,
        tiers=_tiers(comparison),
        **_beside(evidence),
    )


def _against_foreign(evidence: Evidence, golden: GoldenEvidence) -> Finding:
    """A log that someone published: what differs from it is no regression, for no more is known of it."""
    comparison = golden.comparison
    see = f"see both: `reprokit diff {golden.path} {evidence.runs[0].path}`"
    objection = why_not_golden(evidence)
    if evidence.stopped_at_golden:
        objection = Objection("the runs were stopped early, and a foreign log stops no run")
    if objection is not None:
        beyond = comparison.comparable and not comparison.within_tolerance
        far = f"more than the declared tolerance from a foreign log, {difference(comparison)}"
        why = far if beyond else objection.about(golden.path).reason
        return unjudged(why, see, tiers=_tiers(comparison))
    records = counted(comparison.records_compared, "record")
    metrics = counted(comparison.metrics_compared, "metric")
    return passed(
        f"within the declared tolerance of a foreign log ({golden.path}) in {records} of {metrics}",
        golden=golden.path,
        records=comparison.records_compared,
        metrics=comparison.metrics_compared,
        foreign=True,
        tiers=_tiers(comparison),
    )


def _beside(evidence: Evidence) -> dict[str, str]:
    """The runs with other seeds that were looked at, so that a report is judged again by them."""
    seen = evidence.seed_response
    if seen is None or not seen.run:
        return {}
    return {"other_seed": seen.run, **({"third_seed": seen.third_run} if seen.third_run else {})}


def _response(evidence: Evidence) -> str:
    """What is known of the seed, for an unmodified program; "" else."""
    because = unresponsive(evidence.recipe or {})
    if because:
        return f"; no metric responds to the seed, as the recipe says: {because}"
    seen = evidence.seed_response
    return f"; {seen.shown_by}" if seen is not None and seen.shown_by else ""


def _agree(evidence: Evidence) -> bool:
    return all(run.complete for run in evidence.runs) and why_not_repeated(evidence) is None


def _how_to_get_one(evidence: Evidence) -> str:
    if evidence.recipe is None:
        return "write a recipe: only a recipe has a golden"
    name = evidence.recipe.get("name")
    if evidence.modified:
        return "run the recipe as it stands, without --set"
    if not _agree(evidence):
        return "two runs must agree before either can be promoted: see the row `repeatable`"
    further = "".join(f" {word}" for word in evidence.options)
    if evidence.ensemble_not_asked:
        return f"compare new seeds with the ensemble: `reprokit verify {name} --statistical{further}`"
    return f"promote two runs that agree: `reprokit golden promote {name} --reason 'first golden'{further}`"


def _tiers(comparison: Comparison) -> dict[str, bool]:
    """Both, always: "approximate passed, exact failed" is how drift looks."""
    return {"exact": comparison.identical, "approximate": comparison.within_tolerance}


def _not_its_golden(evidence: Evidence, golden: GoldenEvidence, run: RunEvidence) -> Objection | None:
    asked = {
        "recipe": run.run.recipe,
        "platform": evidence.platform,
        "seed": run.run.seed,
    }
    for key, value in asked.items():
        recorded = getattr(golden.provenance, key)
        if recorded in {None, ""} or type(recorded) is not type(value) or recorded != value:
            told = recorded if recorded != "" else None
            return Objection(f"provenance.json has {key} {told!r}, but the run has {value!r}")
    return None
