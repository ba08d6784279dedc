"""Variation ``temporary_folder``: temporary files elsewhere."""

from reprokit.variations import There, Variation

ORDER = 90
SAYS = "the folder for temporary files"


def vary(there: There) -> Variation:
    """The change."""
    folder = f"{there.folder}/temporary"
    return Variation(
        name="temporary_folder",
        says=SAYS,
        category="environment",
        fix="let no number depend on it",
        environment={"TMPDIR": folder},
        start=("--folder", folder),
    )
