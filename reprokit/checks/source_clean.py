"""Row ``source_clean``: the code that ran is a commit that someone else can check out."""

from __future__ import annotations

from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.verdicts.rows import Finding, failed, failed_runs, passed, skipped

ID = "source_clean"
TITLE = "The source tree is a clean commit"
ORDER = 210
ADVISORY = True
NEEDS_RECIPE = False


def check(evidence: Evidence) -> Finding:
    """A commit, and no file that is not as committed, in every run's record."""
    remedy = "commit what has changed (`git status` shows it), then run again"
    if evidence.runs and all(_nowhere(run) for run in evidence.runs):
        if named := (evidence.runs[0].run.bundle or {}).get("commit"):
            return skipped(
                f"the files are those of a bundle; its author names commit {named}, which was not checked",
                "compare source/ in the bundle with that commit, where you can get it",
            )
        reasons = sorted({_nowhere(run) for run in evidence.runs})
        return skipped(
            f"there is no commit to name: {', '.join(reasons)}", "keep the source in a git repository"
        )
    if broken := failed_runs(evidence, _problem, remedy):
        return broken
    commits = sorted({str(fact(run.environment, "source.commit")) for run in evidence.runs})
    if len(commits) > 1:
        return failed(f"the runs are from different commits: {', '.join(commits)}", remedy, commits=commits)
    return passed(f"the source is commit {commits[0]}, with nothing changed", commit=commits[0])


def _nowhere(run: RunEvidence) -> str:
    """Why git could say nothing, or "" when it could."""
    if fact(run.environment, "source.commit"):
        return ""
    return str((fact(run.environment, "missing") or {}).get("source.commit") or "")


def _problem(run: RunEvidence) -> str:
    commit, dirty = fact(run.environment, "source.commit"), fact(run.environment, "source.dirty")
    if not isinstance(commit, str) or not commit:
        return "the environment record names no commit"
    if dirty is not False:
        changed = fact(run.environment, "source.changed")
        names = fact(run.environment, "source.changed_files")
        listed = isinstance(names, list | tuple) and names
        which = f": {', '.join(map(str, names))}" if listed else ""
        if listed and isinstance(changed, int) and changed > len(names):
            which += f" and {changed - len(names)} more"
        differ = "1 file differs" if changed == 1 else f"{changed or 'some'} files differ"
        return f"{differ} from commit {commit}{which}"
    return ""
