"""Checkpoints read on the host, where there is no torch: what is in them, what is missing, what differs.

This package knows how ``torch.save`` lays a file out and what a checkpoint of reprokit must hold. It refuses
to run anything that a file asks for, and to load one into a model: that belongs to ``reprokit.runtime``.

    >>> state = read(Path("checkpoints/checkpoint_20480.pt"))
    >>> state["step"]
    20480
"""

from reprokit.checkpoints import safetensors_file, torch_file
from reprokit.checkpoints.comparing import Difference, content_digest, differences
from reprokit.checkpoints.folder import Listed, folder_of, last_whole, listed, problems_of, removed
from reprokit.checkpoints.leaves import leaves
from reprokit.checkpoints.migrating import Migrated, migrated
from reprokit.checkpoints.reading import read
from reprokit.checkpoints.tensors import Tensor

__all__ = [
    "Difference",
    "Listed",
    "Migrated",
    "Tensor",
    "content_digest",
    "differences",
    "folder_of",
    "last_whole",
    "leaves",
    "listed",
    "migrated",
    "problems_of",
    "read",
    "removed",
    "safetensors_file",
    "torch_file",
]
