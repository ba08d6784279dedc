"""What a watched program may load or start without making its seeds unknown."""

from __future__ import annotations

from reprokit.core.sampling.seed_following import _SYSTEM, _WITHOUT_GENERATORS


def test_packages_and_programs_that_draw_no_number_are_those_that_were_reviewed(file_regression):
    """A name more lets a row pass that no one could judge: to be seen in review (``--force-regen``)."""
    lines = [f"package {name}" for name in sorted(_WITHOUT_GENERATORS)]
    lines += [f"program {name}" for name in sorted(_SYSTEM)]
    file_regression.check("\n".join(lines) + "\n", basename="without_generators")
