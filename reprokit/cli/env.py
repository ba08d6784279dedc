"""``reprokit env``: what differs between two environments, and whether it can change numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.env_export import export_record
from reprokit.cli.options import examples

if TYPE_CHECKING:
    from reprokit.capture.forecast import Forecast

_SHOWN = 12
_NAMES = {"cpu": "CPU", "libc": "C library", "numerics": "numerics profile", "python": "Python"}
_SIGNS = {"yes": "can change numbers", "maybe": "may change numbers", "no": "cannot change numbers"}


@click.group(
    "env",
    short_help="Compare environment records; check this host against a golden's.",
    epilog=examples("reprokit env check --against golden/cartpole_baseline"),
)
def command() -> None:
    """Environment records: of run folders, goldens, reports, or written by `reprokit capture`."""


command.add_command(export_record)


@command.command(
    "diff",
    epilog=examples("reprokit env diff golden/cartpole_baseline RUN", "reprokit env diff a.json b.json"),
)
@click.argument("expected", type=click.Path(path_type=Path))
@click.argument("actual", type=click.Path(path_type=Path))
@click.option("--all", "show_all", is_flag=True, help="Show every difference, not a dozen of a kind.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def diff(expected: Path, actual: Path, show_all: bool, as_json: bool) -> int:
    """Say in what two environments differ, what can change numbers first.

    Exit codes: 0 the same in everything that can change numbers; 1 not; 2 not a record.
    """
    import json

    from reprokit.capture import environment_diff
    from reprokit.capture.read_record import read_record
    from reprokit.core import fingerprint

    before, after = read_record(expected), read_record(actual)
    entries, same = environment_diff.diff(before, after), fingerprint.same(before, after)
    if as_json:
        answer = {
            "same": same,
            "expected": {"path": str(expected), "fingerprint": fingerprint.fingerprint(before)},
            "actual": {"path": str(actual), "fingerprint": fingerprint.fingerprint(after)},
            "differences": entries,
        }
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0 if same else 1
    counts = {level: sum(entry["can_change_numbers"] == level for entry in entries) for level in _SIGNS}
    if not entries:
        click.echo("The records are equal.")
    elif same:
        click.echo(f"Same numerics fingerprint; {counts['no']} differences that cannot change numbers.")
    else:
        click.echo(f"Differs in {counts['yes'] + counts['maybe']} facts that can or may change numbers.")
    click.echo("\n".join(_lines(entries, limit=None if show_all else _SHOWN)))
    return 0 if same else 1


@command.command("check", epilog=examples("reprokit env check --against golden/cartpole_baseline"))
@click.option(
    "--against",
    "record",
    required=True,
    type=click.Path(path_type=Path),
    metavar="GOLDEN|RUN|RECORD",
    help="Whose environment to hold this host against.",
)
@click.option(
    "--variant", help="The locked environment to hold against it  [default: the record's own, or cpu]."
)
@click.option("--python", metavar="PATH", help="Ask this Python instead of reading a lock.")
@click.option("--all", "show_all", is_flag=True, help="Show every difference, not a dozen of a kind.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def check(record: Path, variant: str | None, python: str | None, show_all: bool, as_json: bool) -> int:
    """Say what a run here would and would not have in common with an earlier one, before it runs.

    Exit codes: 0 nothing known differs in what can change numbers; 1 something does; 2 not a record.
    """
    from reprokit.capture.read_record import read_record

    expected = read_record(record)
    answer, held = _forecast(expected, variant=variant, python=python)
    clean = answer.same_platform and not answer.differences
    if as_json:
        import json

        click.echo(json.dumps({"same": clean, **_as_json(answer)}, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_page(answer, record, held, limit=None if show_all else _SHOWN)))
    return 0 if clean else 1


def _forecast(
    expected: Mapping[str, Any], *, variant: str | None, python: str | None
) -> tuple[Forecast, str]:
    """What is to be expected here, and which environment it was read from."""
    from reprokit import capture
    from reprokit.capture.forecast import forecast
    from reprokit.errors import UsageError
    from reprokit.images import locks, packages

    host = capture.capture_host(Path.cwd())
    if python is not None:
        inside = capture.capture_interpreter([python], with_torch=True)
        if "packages" not in inside:
            raise UsageError(
                inside["missing"]["python"], where=python, fix="name a Python that has the packages"
            )
        return forecast(expected, host=host, inside=inside), python
    here = Path.cwd()
    project = next((at for at in (here, *here.parents) if (at / "images" / "lock.toml").is_file()), None)
    if project is None:
        if variant is not None:
            raise UsageError(
                "no images/lock.toml here or above", where=str(here), fix="go to the project's folder"
            )
        return forecast(expected, host=host), "none: no images/lock.toml here or above"
    locked = locks.read_lock(project).variant(
        variant or str((expected.get("image") or {}).get("variant") or "cpu")
    )
    target = packages.Target(machine=str(host["cpu"]["architecture"]), python=locked.python)
    wanted = packages.packages_for(packages.read_packages(locked.packages_path), target)
    versions = {package.name: package.version for package in wanted}
    shown = locked.packages_path.relative_to(project)
    return forecast(expected, host=host, packages=versions, python=locked.python), str(shown)


def _as_json(answer: Forecast) -> dict[str, Any]:
    return {
        "platform": answer.platform,
        "host_platforms": list(answer.host_platforms),
        "differences": [dict(entry) for entry in answer.differences],
        "matches": list(answer.matches),
        "open": list(answer.open),
    }


def _page(answer: Forecast, record: Path, held: str, *, limit: int | None) -> list[str]:
    lines = [f"{'Record':<15} {record}, of {answer.platform}"]
    lines.append(f"{'This host':<15} {', '.join(answer.host_platforms)}")
    lines += [f"{'Environment':<15} {held}", ""]
    lines.append(f"{'Will match':<15} {_grouped(answer.matches)}")
    lines.append(f"{'A run will tell':<15} {_grouped(answer.open)}")
    if answer.differences:
        lines += ["Will not match", *(f"  {line}" for line in _lines(answer.differences, limit=limit))]
    else:
        lines.append("Will not match  nothing that is known before a run")
    return [*lines, "", _outlook(answer)]


def _outlook(answer: Forecast) -> str:
    """What it comes to, in a line."""
    if not answer.same_platform:
        return "Another platform: its numbers are no yardstick here; this one needs a golden of its own."
    if answer.differences:
        return (
            "Another environment: where a run's numbers differ here, that is STALE_GOLDEN and no REGRESSION."
        )
    return "Nothing that is known before a run makes its numbers differ."


def _grouped(fields: Sequence[str]) -> str:
    """``inside.packages.numpy``, ``inside.packages.torch`` → ``packages (2)``."""
    names: dict[str, int] = {}
    for field in fields:
        parts = field.split(".")
        name = parts[1] if parts[0] in {"inside", "host"} and len(parts) > 1 else parts[0]
        name = _NAMES.get(name, name)
        names[name] = names.get(name, 0) + 1
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in names.items()) or "nothing"


def _lines(entries: Sequence[Mapping[str, Any]], *, limit: int | None) -> list[str]:
    """Differences in three groups; a reason that holds for several in a row stands once."""
    lines: list[str] = []
    for level, title in _SIGNS.items():
        rows = [entry for entry in entries if entry["can_change_numbers"] == level]
        shown = rows if limit is None else rows[:limit]
        lines += [f"{title} ({len(rows)})"] if rows else []
        why = None
        for entry in shown:
            if entry["why"] != why:
                why = entry["why"]
                lines.append(f"  {why}:")
            lines.append(f"    {entry['field']}: {_short(entry['expected'])} → {_short(entry['actual'])}")
        if len(rows) > len(shown):
            lines.append(f"    … and {len(rows) - len(shown)} more (--all)")
    return lines


def _short(value: Any) -> str:
    if value is None:
        return "absent"
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return (text if len(text) <= 60 else f"{text[:57]}…") or "(none)"
