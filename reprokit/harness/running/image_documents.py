"""What is said of a run's image, as files of the run folder: what is in it, and how it came to be.

This module knows which environments have such documents; it refuses to know what stands in them.
In the run folder they are under the digests of COMPLETE, like everything else.

    >>> sorted(documents_of(realisation))
    ['image-provenance.json', 'sbom.cdx.json']
"""

from __future__ import annotations

from reprokit.core.records import Realisation
from reprokit.images import cache, image_documents


def documents_of(realisation: Realisation) -> dict[str, bytes]:
    """The documents of an image: relative name → content, as ``runs.create`` takes it.

    Empty for a virtual environment, and for an image whose wheels are not on this host: it was
    made elsewhere, and its documents with it.

    Raises:
        WorkspaceError: The cache cannot be reached.
    """
    if realisation.kind != "image":
        return {}
    return image_documents.files_of(realisation.digest, cache=cache.cache_folder(None))
