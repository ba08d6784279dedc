"""Variation ``memory_pattern``: the C library's allocator fills what it hands out, and what it gets back.

Source: mallopt(3), M_PERTURB; glibc manual, Memory Allocation Tunables.
"""

import platform

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 160
SAYS = "what freshly allocated memory holds"
_BYTE = 165


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; only glibc's allocator does it on request."""
    library = platform.libc_ver()[0]
    if library != "glibc" and not there.container:
        why = f"the C library is {library or 'not known'}, and only glibc's allocator fills memory on request"
        return VariationNotMade(why=why)
    tunables = there.environment.get("GLIBC_TUNABLES", "")
    own = f"glibc.malloc.perturb={_BYTE}"
    return Variation(
        category="uninitialised_memory",
        fix="use zeros, or write memory before it is read",
        environment={
            "MALLOC_PERTURB_": str(_BYTE),
            "GLIBC_TUNABLES": f"{tunables}:{own}" if tunables else own,
        },
        shows={"fresh_memory": (_BYTE ^ 0xFF,)},
    )
