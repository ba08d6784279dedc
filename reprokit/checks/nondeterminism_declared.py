"""Row ``nondeterminism_declared``: the recipe names the known sources of nondeterminism.

An empty list declares that none is known; no list declares nothing.
"""

from __future__ import annotations

from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.rows import Finding, counted, failed, passed

ID = "nondeterminism_declared"
TITLE = "Known sources of nondeterminism are declared"
ORDER = 180
ADVISORY = False
NEEDS_RECIPE = True
DECLARED_BY = "nondeterminism"

_DECLARE = "declare in recipe.yaml: `nondeterminism: [one sentence per source]`, or `[]` when none is known"


def check(evidence: Evidence) -> Finding:
    """A list of sentences, possibly empty."""
    sources = (evidence.recipe or {}).get("nondeterminism")
    if not isinstance(sources, list | tuple):
        return failed("the recipe does not say which sources of nondeterminism are known", _DECLARE)
    if not all(isinstance(source, str) and source.strip() for source in sources):
        return failed("a declared source of nondeterminism is not a sentence", _DECLARE)
    if not sources:
        return passed("the recipe declares that no source of nondeterminism is known", sources=[])
    known = counted(len(sources), "known source")
    return passed(f"{known} of nondeterminism declared", sources=list(sources))
