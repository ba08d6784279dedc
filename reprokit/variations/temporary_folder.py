"""Variation ``temporary_folder``: temporary files elsewhere, in a path that has room for a socket's name."""

from reprokit.variations import RunPlace, Variation

ORDER = 90
SAYS = "the folder for temporary files"


def vary(there: RunPlace) -> Variation:
    """The change."""
    folder = f"{there.folder}/t"
    return Variation(
        category="environment",
        fix="let no number depend on it",
        environment={"TMPDIR": folder},
        start=("--folder", folder),
    )
