"""The extra ``tune``: whether Optuna is installed, and which version draws."""

from __future__ import annotations

from importlib import metadata, util
from typing import Protocol

from reprokit.errors import CannotRunError

_INSTALL = "pip install 'reprokit-verify[tune]'"


class _Search(Protocol):
    @property
    def needs_optuna(self) -> bool:
        """Whether Optuna draws or prunes."""


def must_have_optuna(*, also: str = "") -> None:
    """Raise `CannotRunError` where Optuna, or the package ``also`` that it needs, is not installed."""
    for package in filter(None, ("optuna", also)):
        if util.find_spec(package) is None:
            raise CannotRunError(f"the package {package} is not installed", fix=_INSTALL)


def version_of(search: _Search) -> str | None:
    """The version of Optuna that draws a search; None where it draws nothing of it.

    Raises:
        CannotRunError: It is not installed.
    """
    if not search.needs_optuna:
        return None
    must_have_optuna()
    return metadata.version("optuna")
