"""Checkpoints read on the host without torch: what they hold, what is missing, and what differs.

Nothing that a file asks for is ever run. Loading a checkpoint into a model belongs to ``reprokit.runtime``.
"""

from reprokit.checkpoints import safetensors_file, torch_writer
from reprokit.checkpoints.flatten import leaves
from reprokit.checkpoints.manifest import (
    Listed,
    folder_of,
    last_whole,
    listed,
    problems_of,
    removed,
)
from reprokit.checkpoints.migration import Migrated, migrated
from reprokit.checkpoints.reader import read
from reprokit.checkpoints.tensor_diff import CheckpointDifference, content_digest, differences
from reprokit.checkpoints.tensor_tree import pack
from reprokit.checkpoints.tensors import Tensor

__all__ = [
    "CheckpointDifference",
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
    "pack",
    "problems_of",
    "read",
    "removed",
    "safetensors_file",
    "torch_writer",
]
