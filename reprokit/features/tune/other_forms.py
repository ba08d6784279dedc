"""A search in Optuna's storage, and the importance of its settings; both need the extra."""

from __future__ import annotations

from pathlib import Path

from reprokit.errors import UsageError
from reprokit.features.tune.extra import must_have_optuna
from reprokit.features.tune.study import Study

_SQLITE = "sqlite:///"


def export(study: Study, *, url: str) -> int:
    """Add a search to a storage of Optuna's; how many trials were added.

    Raises:
        UsageError: The URL is none of a file, or the study there has other trials.
        CannotRunError: The extra is not installed.
    """
    must_be_storage(url)
    must_have_optuna()
    from reprokit.features.tune import in_optuna

    return in_optuna.export(study.definition, study.trials, url=url)


def must_be_storage(url: str) -> None:
    """Refuse a URL that no file can be made of.

    Raises:
        UsageError: It is none.
    """
    if not url.startswith(_SQLITE) or not Path(url.removeprefix(_SQLITE)).absolute().parent.is_dir():
        raise UsageError(
            "no study can be written there",
            where=f"--export {url}",
            expected="sqlite:///FILE in a folder that exists",
        )


def importances(study: Study) -> dict[str, float]:
    """Setting → how much of what sets good trials apart is its doing; empty where too few trials differ.

    Raises:
        CannotRunError: The extra is not installed.
    """
    must_have_optuna()
    from reprokit.features.tune import in_optuna

    return in_optuna.importances(study.definition, study.trials)
