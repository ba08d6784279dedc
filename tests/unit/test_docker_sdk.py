"""Every error of the Docker SDK has a row in the table, and becomes one of ours."""

import inspect

import docker.errors
import pytest
import requests

from reprokit.docker_sdk import (
    ANSWERS,
    ENGINE_ERRORS,
    FAULTS,
    SDK_ERRORS,
    DockerFault,
    as_ours,
    fault_of,
    suppressed,
    words_of,
)
from reprokit.errors import EngineError, ImageError

MEANINGS = [
    (docker.errors.NotFound("404"), DockerFault.NOT_THERE, ImageError),
    (docker.errors.ImageNotFound("404"), DockerFault.IMAGE_MISSING, ImageError),
    (docker.errors.APIError("409"), DockerFault.REFUSED, ImageError),
    (docker.errors.APIError("500", explanation="no space left"), DockerFault.REFUSED, ImageError),
    (docker.errors.ImageLoadError("bad archive"), DockerFault.REFUSED, ImageError),
    (docker.errors.DockerException("Error while fetching"), DockerFault.GONE, EngineError),
    (docker.errors.StreamParseError("half a line"), DockerFault.GONE, EngineError),
    (docker.errors.InvalidVersion("too old"), DockerFault.SETTINGS, EngineError),
    (docker.errors.NullResource("no id"), DockerFault.WRONG_CALL, EngineError),
    (requests.ConnectionError("refused"), DockerFault.GONE, EngineError),
    (requests.ConnectTimeout("slow"), DockerFault.GONE, EngineError),
    (requests.ReadTimeout("slow"), DockerFault.GONE, EngineError),
    (requests.exceptions.ChunkedEncodingError("ended prematurely"), DockerFault.GONE, EngineError),
    (requests.exceptions.InvalidURL("tcp:/x"), DockerFault.GONE, EngineError),
    (FileNotFoundError(2, "no socket"), DockerFault.GONE, EngineError),
    (
        docker.errors.ContainerError(None, 1, "python", "image", b"no module"),
        DockerFault.PROGRAM_FAILED,
        ImageError,
    ),
]
CLASSES = [one for _, one in inspect.getmembers(docker.errors, inspect.isclass)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_of_the_sdk_has_a_row_of_its_own_and_is_caught(kind):
    assert kind in FAULTS
    assert issubclass(kind, SDK_ERRORS)


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_every_row_is_of_an_error_that_is_caught(kind):
    assert issubclass(kind, ENGINE_ERRORS)


@pytest.mark.parametrize(("error", "fault", "ours"), MEANINGS)
def test_each_error_means_one_thing_and_keeps_its_words(error, fault, ours):
    assert fault_of(error) is fault
    told = as_ours(error)
    assert type(told) is ours
    assert told.what == fault.value
    assert told.actual == words_of(error)
    assert told.actual


def test_every_fault_is_among_them():
    assert {fault for _, fault, _ in MEANINGS} == set(DockerFault) == set(FAULTS.values())


@pytest.mark.parametrize("stderr", [b"no module \xff", "no module \ufffd"])
def test_a_program_in_a_container_is_quoted(stderr):
    error = docker.errors.ContainerError(None, 1, "python", "image", stderr)
    assert fault_of(error) is DockerFault.PROGRAM_FAILED
    assert words_of(error) == "no module \ufffd"


def test_only_the_faults_that_are_named_are_suppressed():
    with suppressed(*ANSWERS):
        raise docker.errors.NotFound("gone already")
    with pytest.raises(requests.ConnectionError), suppressed(*ANSWERS):
        raise requests.ConnectionError("no engine")
    with pytest.raises(docker.errors.NotFound), suppressed(DockerFault.IMAGE_MISSING):
        raise docker.errors.NotFound("no container")
    with pytest.raises(FileNotFoundError), suppressed(*DockerFault):
        raise FileNotFoundError("the caller's own")
