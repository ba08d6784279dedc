"""Variation ``cpu_model``: an emulated CPU without AVX-512."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 220
SAYS = "the CPU model"
_CPU = "Haswell"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; it takes the emulator, and a run that computes on the CPU."""
    if there.device != "cpu":
        return VariationNotMade(why=f"the run computes on {there.device}, and only CPUs can be emulated")
    if not there.emulator:
        return VariationNotMade(why=there.no_emulator or "there is no emulator")
    return Variation(
        says=f"{SAYS} ({_CPU}, emulated)",
        category="nonportable_numerics",
        fix="numerics: portable, which is bit-equal on every CPU with AVX2",
        seldom="it takes many times as long",
        cpu=_CPU,
        differs=("cpu",),
    )
