"""A variation: the name of the site, which the lab's login scripts set."""

from reprokit.api.extensions import NamedVariation, Variation


def other_site(place):
    """A site that runs at `place` do not have."""
    site = "south" if place.environment.get("LAB_SITE") == "north" else "north"
    return Variation(
        category="environment",
        fix="do not let a number depend on LAB_SITE",
        environment={"LAB_SITE": site},
    )


VARIATION = NamedVariation(says="another site of the lab", makes=other_site)
