"""Imports TorchTPU, which is to take the place of PyTorch/XLA, and says where it came from."""

import sys

import torch_tpu

sys.stdout.write(f"torch_tpu {torch_tpu.__file__}\n")
