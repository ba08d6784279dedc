"""Imports TorchTPU, which is to take the place of PyTorch/XLA, and says as JSON what it has here.

``has``: for each function of ``reprokit.runtime.xla_backend``, whether PyTorch with it has what that function
would call.
"""

import json
import sys

import torch
import torch_tpu  # noqa: F401 - the import is what is tried

CALLED = {
    "opened": (torch.accelerator, "is_available"),
    "seed": (torch.tpu, "manual_seed"),
    "generator_state": (torch.tpu, "get_rng_state"),
    "restore_generator": (torch.tpu, "set_rng_state"),
    "settle": (torch.accelerator, "synchronize"),
}
found = {
    "is_available": torch.accelerator.is_available(),
    "has": {name: callable(getattr(module, call, None)) for name, (module, call) in CALLED.items()},
}
sys.stdout.write(json.dumps(found) + "\n")
