"""The edge of the Docker SDK: the engine's address, and what each of the SDK's errors means.

``execution`` and ``images`` catch ``SDK_ERRORS`` (or ``ENGINE_ERRORS``, which adds those of the socket)
and ask ``fault_of``; neither names a class of the SDK's.

    >>> fault_of(docker.errors.ImageNotFound("no such image"))
    <Fault.IMAGE_MISSING: 'the container engine does not have the image'>
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from urllib.parse import urlsplit

import docker.errors
import requests
from docker.context import ContextAPI
from docker.errors import APIError, ContainerError, DockerException, StreamParseError

from reprokit.errors import CannotRunError, EngineError, ImageError

_START_IT = "start it (`sudo systemctl start docker`, or .ci/bring-up-engine), or use --backend local"
_SETTINGS = "correct DOCKER_HOST, DOCKER_CONTEXT or ~/.docker, or use --backend local"


class DockerFault(Enum):
    """What an error of the SDK means, as a sentence."""

    GONE = "the container engine went away"
    REFUSED = "the container engine refused"
    IMAGE_MISSING = "the container engine does not have the image"
    NOT_THERE = "the container engine does not have it"
    PROGRAM_FAILED = "the program in the container failed"
    SETTINGS = "the container engine cannot be used with the settings of the Docker client"
    WRONG_CALL = "the Docker SDK was called incorrectly"


#: Answers of a living engine.
ANSWERS = (DockerFault.REFUSED, DockerFault.IMAGE_MISSING, DockerFault.NOT_THERE)

#: The nearest class above an error decides. The engine's status (409, 500) does not: it answers 500 to
#: what it merely refuses (a full disk, a missing device), and the SDK makes NotFound of 404 itself.
FAULTS: Mapping[type[BaseException], DockerFault] = {
    docker.errors.APIError: DockerFault.REFUSED,
    docker.errors.NotFound: DockerFault.NOT_THERE,
    docker.errors.ImageNotFound: DockerFault.IMAGE_MISSING,
    docker.errors.BuildError: DockerFault.REFUSED,
    docker.errors.ImageLoadError: DockerFault.REFUSED,
    docker.errors.ContainerError: DockerFault.PROGRAM_FAILED,
    docker.errors.ContextAlreadyExists: DockerFault.SETTINGS,
    docker.errors.ContextException: DockerFault.SETTINGS,
    docker.errors.ContextNotFound: DockerFault.SETTINGS,
    docker.errors.InvalidConfigFile: DockerFault.SETTINGS,
    docker.errors.InvalidVersion: DockerFault.SETTINGS,
    docker.errors.MissingContextParameter: DockerFault.SETTINGS,
    docker.errors.TLSParameterError: DockerFault.SETTINGS,
    docker.errors.DeprecatedMethod: DockerFault.WRONG_CALL,
    docker.errors.InvalidArgument: DockerFault.WRONG_CALL,
    docker.errors.InvalidRepository: DockerFault.WRONG_CALL,
    docker.errors.NullResource: DockerFault.WRONG_CALL,
    # What a dying engine leaves behind: no connection, no answer in time, half an answer.
    docker.errors.DockerException: DockerFault.GONE,
    docker.errors.StreamParseError: DockerFault.GONE,
    requests.RequestException: DockerFault.GONE,
    OSError: DockerFault.GONE,
}

#: Everything that a call of the SDK raises of its own.
SDK_ERRORS = (DockerException, StreamParseError, requests.RequestException)
#: The same with the system's errors, which reach the caller where no engine listens.
ENGINE_ERRORS = (*SDK_ERRORS, OSError)

_OURS: Mapping[DockerFault, tuple[type[CannotRunError], str | None]] = {
    DockerFault.GONE: (EngineError, _START_IT),
    DockerFault.REFUSED: (ImageError, None),
    DockerFault.IMAGE_MISSING: (ImageError, "build it: reprokit image build"),
    DockerFault.NOT_THERE: (ImageError, None),
    DockerFault.PROGRAM_FAILED: (ImageError, None),
    DockerFault.SETTINGS: (EngineError, _SETTINGS),
    DockerFault.WRONG_CALL: (EngineError, "report it, with the command line and this message"),
}


def fault_of(error: BaseException) -> DockerFault:
    """What an error of ``ENGINE_ERRORS`` means."""
    return next(FAULTS[kind] for kind in type(error).__mro__ if kind in FAULTS)


def as_ours(error: BaseException) -> CannotRunError:
    """An error of ``ENGINE_ERRORS`` as one of ``reprokit.errors``, with the engine's own words."""
    fault = fault_of(error)
    kind, fix = _OURS[fault]
    return kind(fault.value, actual=words_of(error), fix=fix)


def no_answer(error: BaseException) -> EngineError:
    """The error for an engine that cannot be reached at all."""
    return EngineError(
        "the container engine does not answer", where=endpoint(), actual=str(error), fix=_START_IT
    )


def explain_unreachable(error: BaseException) -> tuple[str, str]:
    """Why an engine cannot be reached, and what to do: the first system error behind it decides."""
    where = endpoint()
    cause = _system_error(error)
    if isinstance(cause, PermissionError):
        why = f"this user has no permission to use the container engine at {where}"
        fix = "sudo usermod -aG docker $USER, then log in again"
    elif isinstance(cause, FileNotFoundError):
        why = f"no container engine at {where}"
        fix = "install Docker Engine and start it (sudo systemctl start docker)"
    elif isinstance(cause, ConnectionRefusedError):
        why, fix = f"the container engine at {where} is not running", "start it (sudo systemctl start docker)"
    elif isinstance(cause, TimeoutError) or isinstance(error, requests.Timeout):
        why = f"the container engine at {where} does not answer"
        fix = "restart it (sudo systemctl restart docker), or correct DOCKER_HOST"
    else:
        why, fix = f"the container engine at {where} cannot be used: {error}", "see docker info"
    return why, f"{fix}; or run without a container: --backend local"


def _system_error(error: BaseException | None) -> OSError | None:
    seen: set[int] = set()
    found: OSError | None = None
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and not isinstance(error, requests.RequestException):
            found = error
        error = error.__cause__ or error.__context__
    return found


def words_of(error: BaseException) -> str:
    """What the engine, or the program in the container, said itself."""
    words: object = error.explanation if isinstance(error, APIError) else None
    if isinstance(error, ContainerError):
        words = error.stderr.decode("utf-8", "replace") if isinstance(error.stderr, bytes) else error.stderr
    return str(words or error).strip()


@contextmanager
def suppressed(*faults: DockerFault) -> Iterator[None]:
    """Leave the block, with no error, where the SDK raises one that means one of these faults."""
    try:
        yield
    except SDK_ERRORS as error:
        if fault_of(error) not in faults:
            raise


def endpoint() -> str:
    """Where the SDK will look for the engine."""
    try:
        chosen = os.environ.get("DOCKER_HOST") or ContextAPI.kwargs_from_context().get("base_url")
    except DockerException:  # a broken context file; connecting will say so
        chosen = None
    return str(chosen or "unix:///var/run/docker.sock").removeprefix("http+")


def knock(*, timeout_s: float) -> None:
    """Open and close a connection (else ``OSError``): quick, and the SDK leaks its own socket then."""
    parts = urlsplit(endpoint())
    if parts.scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(timeout_s)
            door.connect(parts.path)
    elif parts.scheme == "tcp" and parts.hostname:
        socket.create_connection((parts.hostname, parts.port or 2375), timeout=timeout_s).close()
