"""Which package belongs to which extra of the distribution, and the one line that installs it.

A part of the tool that needs such a package asks here before it is used, so that what is missing is reported
and never ignored.

    >>> install_line("containers")
    "pip install 'reprokit-verify[containers]'"
"""

from __future__ import annotations

from importlib import util

from reprokit.errors import CannotRunError, MissingExtraError

#: What is imported → the extra that brings it, and what it is called on the package index.
EXTRAS = {
    "docker": ("containers", "docker"),
    "jinja2": ("html", "Jinja2"),
    "packaging": ("environments", "packaging"),
    "pip": ("environments", "pip"),
    "pynvml": ("gpu", "nvidia-ml-py"),
    "requests": ("remote", "requests"),
    "rich": ("html", "rich"),
    "scipy": ("statistics", "scipy"),
    "typst": ("pdf", "typst"),
    "urllib3": ("remote", "urllib3"),
    "uv": ("environments", "uv"),
}

#: Parts of Python's own library that Windows lacks.
_OF_POSIX = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "termios"})
_OUTCOMES = {"containers": "engine_missing", "environments": "image_build_failed"}


def install_line(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'reprokit-verify[{extra}]'"


def is_installed(module: str) -> bool:
    """Whether a package of an extra can be imported."""
    try:
        return util.find_spec(module) is not None
    except ImportError:  # what is found first on the path may be broken
        return False


def must_have(*modules: str) -> None:
    """Do nothing where these packages are installed.

    Raises:
        MissingExtraError: One is not; its hint installs it.
    """
    for module in modules:
        if not is_installed(module):
            raise _missing(module)


def must_be_posix() -> None:
    """Do nothing where programs can be run under watch: on Linux and macOS.

    Raises:
        CannotRunError: This is Windows.
    """
    if not is_installed("fcntl"):
        raise _not_here("this Python has no module fcntl")


def explained(error: BaseException) -> CannotRunError | None:
    """What a failed import means; None where it is not of an extra, nor of what Windows lacks."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    module = error.name.partition(".")[0]
    if module in EXTRAS:
        return _missing(module)
    return _not_here(f"this Python has no module {module}") if module in _OF_POSIX else None


def _missing(module: str) -> MissingExtraError:
    extra, package = EXTRAS[module]
    error = MissingExtraError(
        f"this needs the package {package}, which is not installed", fix=install_line(extra)
    )
    error.outcome = _OUTCOMES.get(extra, error.outcome)
    return error


def _not_here(why: str) -> CannotRunError:
    return CannotRunError(f"runs are made on Linux and macOS alone: {why}", fix="use Linux, macOS or WSL")
