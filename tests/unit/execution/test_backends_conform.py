"""Every backend offers what the protocol promises; a new one is a new file and a new line here."""

import inspect

import pytest

from reprokit.execution import Backend
from reprokit.execution.docker import DockerBackend
from reprokit.execution.local import LocalBackend


@pytest.mark.parametrize(
    ("backend", "name"), [(DockerBackend(workspace="/w"), "docker"), (LocalBackend(), "local")]
)
def test_a_backend_has_its_name_and_the_protocols_run(backend: Backend, name: str):
    assert backend.name == name
    assert inspect.signature(type(backend).run) == inspect.signature(Backend.run)
