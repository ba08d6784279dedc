"""Variation ``address_layout``: every library at the same address in each run, instead of at a random one.

Source: personality(2), ADDR_NO_RANDOMIZE; what ``setarch -R`` does.
"""

from pathlib import Path

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 170
SAYS = "where the system puts libraries, heap and stack"
_SWITCH = Path("/proc/sys/kernel/randomize_va_space")


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; containers may not change it, and a kernel that does not randomise has no other layout."""
    if there.container:
        why = "the engine's seccomp filter forbids it in a container (with --backend local it is varied)"
        return VariationNotMade(why=why)
    try:
        randomised = _SWITCH.read_text(encoding="ascii").strip() != "0"
    except OSError:
        return VariationNotMade(why="this system does not say whether it randomises addresses")
    if not randomised:
        return VariationNotMade(why="address randomisation is off in this kernel")
    return Variation(
        category="process_identity",
        fix="let no number depend on addresses",
        start=("--fixed-addresses",),
        shows={"fixed_addresses": (True,)},
    )
