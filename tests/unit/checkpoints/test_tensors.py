"""Tensors within a storage: none may reach beyond its bytes."""

import pytest

from reprokit.checkpoints.tensors import DTYPES, view
from reprokit.errors import CheckpointError


@pytest.mark.parametrize(
    ("offset", "shape", "stride"),
    [
        (0, (5,), (1,)),
        (3, (2,), (1,)),
        (0, (2, 2), (3, 1)),
        (0, (1 << 40,), (0,)),
        (-1, (1,), (1,)),
        (0, (2,), (-1,)),
        (0, (2,), (1, 1)),
        (0, (1.5,), (1,)),
    ],
)
def test_a_tensor_that_reaches_beyond_its_data_is_refused(offset, shape, stride):
    with pytest.raises(CheckpointError):
        view(bytes(16), DTYPES["float32"], offset=offset, shape=shape, stride=stride)
