"""A row: the runs were all made at one place."""

from reprokit.api import read_run
from reprokit.api.extensions import Finding, JudgedRuns, Row, failed, passed, unjudged


def check(judged: JudgedRuns) -> Finding:
    places = {str(read_run(folder).data.get("where")) for folder in judged.runs}
    if "None" in places or not places:
        return unjudged("a run does not say where it was made", "run it again")
    if len(places) > 1:
        told = " and ".join(sorted(places))
        return failed(f"the runs were made at {told}", "make all of them at one place")
    return passed(f"all runs were made at {places.pop()}")


ROW = Row(title="All runs were made at one place", check=check)
