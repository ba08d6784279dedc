"""A cause: the lab's old template, which seeded programs from the clock."""

from reprokit.api.extensions import NamedCause, Proposal


def propose(found):
    """Propose the first line that reads the clock and got different values."""
    for tap in found["taps"]:
        if tap["category"] == "clock" and tap["differs"]:
            return Proposal(
                what="reads the clock, as the lab's template of 2019 did for its seed",
                fix="start from the present template, which takes --seed",
                file=tap["file"],
                line=tap["line"],
            )
    return None


CAUSE = NamedCause(propose=propose)
