"""Trains the network of mnist_cnn as one program over all devices (SPMD), each with its part of a batch.

Prints what it found as JSON: how many devices, where a batch lies, losses, a digest of losses and parameters.
"""

import hashlib
import json
import sys

import numpy as np
import torch
import torch_xla
from torch.nn import functional
from torch_xla import runtime
from torch_xla.distributed import spmd

from recipes.parts.devices import adam_of
from recipes.trainers.classifier import Dataset, Model, network
from reprokit.runtime import devices

_UPDATES, _BATCH = 8, 64


def main() -> None:
    runtime.use_spmd()
    device = devices.opened("tpu")
    count = runtime.global_runtime_device_count()
    mesh = spmd.Mesh(np.arange(count), (count,), ("data",))
    torch.manual_seed(0)
    dataset = Dataset(file="none", side=28, largest=255, num_classes=10)
    model = network(dataset, Model(architecture="cnn", channels=(8, 16), hidden_sizes=(64,))).to(device)
    adam = adam_of(model, epsilon=1e-8)
    losses, digest = [], hashlib.sha256()
    for _ in range(_UPDATES):
        images, labels = torch.randn(_BATCH, 1, 28, 28).to(device), torch.randint(10, (_BATCH,)).to(device)
        spmd.mark_sharding(images, mesh, ("data", None, None, None))
        spmd.mark_sharding(labels, mesh, ("data",))
        adam.gradients.zero_()
        loss = functional.cross_entropy(model(images), labels)
        torch.autograd.backward(loss)
        adam.step(learning_rate=1e-3, max_norm=1.0)
        losses.append(loss.item())
    for parameter in model.parameters():
        digest.update(parameter.numpy(force=True).tobytes())
    found = {"devices": count, "sharding": torch_xla._XLAC._get_xla_sharding_spec(images), "losses": losses}
    sys.stdout.write(json.dumps({**found, "digest": digest.hexdigest()}) + "\n")


main()
