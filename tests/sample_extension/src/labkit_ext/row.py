"""An advisory row: the loss of every run is smaller at its end than at its beginning."""

from reprokit.api import MetricsError, read_run
from reprokit.api.extensions import Row, failed, passed, skipped


def losses(folder):
    """The losses that a run logged, in order; none where it has no log."""
    try:
        return [record["loss"] for record in read_run(folder).records() if "loss" in record]
    except MetricsError:
        return []


def check(judged):
    """Compare the first loss of each run with its last."""
    rising = []
    for folder in judged.runs:
        logged = losses(folder)
        if len(logged) < 2:
            return skipped(f"{folder.name} logged fewer than two losses", "log the loss as `loss`")
        if not logged[-1] < logged[0]:
            rising.append(folder.name)
    if rising:
        return failed(f"the loss of {len(rising)} runs did not fall", "lower the learning rate", runs=rising)
    return passed("the loss of every run fell")


ROW = Row(title="The loss falls", check=check)
