"""Which files of a run folder hold metrics, and who reads them, by their names.

An adapter is found because its module is called ``from_….py``: adding one is adding a file. Only where many
programs use a name for something else does the adapter look into the file before it is taken for a source.
Files whose names say nothing, such as ``log.txt``, are looked into where the others hold no number.

    >>> find(Path("runs/x")).name
    'metrics.jsonl'
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch, fnmatchcase
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

from reprokit import file_tree
from reprokit.adapters import from_json, from_jsonl, from_printed
from reprokit.adapters.folders import content, held_numbers, run_files, source_names
from reprokit.adapters.of_extensions import ForeignAdapter, foreign_adapters
from reprokit.adapters.reading import Adapter, MetricsSource, not_a_file
from reprokit.errors import MetricsError
from reprokit.file_tree import Kind
from reprokit.plugin_files import PluginFolder, load

#: Adapters from this order on read files by what is in them, where a folder holds no others.
_BY_CONTENT = 100
_FOLDER = PluginFolder(
    package="reprokit.adapters",
    kind="adapter",
    protocol=Adapter,
    guide="reprokit/adapters/reading.py",
    prefix="from_",
    unique=("ORDER", "NAME"),
)


def adapters() -> tuple[Adapter, ...]:
    """Every adapter of this package, in the order in which they are asked, and then those of extensions.

    Raises:
        CannotJudgeError: A file called ``from_….py`` is not an adapter.
        UsageError: An extension brings one that is built in.
    """
    core = _core()
    return (*core, *foreign_adapters(core))


@cache
def _core() -> tuple[Adapter, ...]:
    return tuple(module for _, module in load(_FOLDER, [str(Path(__file__).parent)]))


def adapter_named(name: str) -> Adapter:
    """The adapter that a source names.

    Raises:
        MetricsError: There is none of that name.
    """
    by_name = {adapter.NAME: adapter for adapter in adapters()}
    if name not in by_name:
        raise MetricsError("no adapter reads this format", expected=" or ".join(by_name), actual=repr(name))
    return by_name[name]


def source_of(path: Path) -> MetricsSource:
    """A file, or the folder of a source that is a whole folder, as a source.

    A file whose name no adapter knows is read by what is in it; of one that is not there, the name decides.

    Raises:
        MetricsError: A folder that no adapter reads as a whole.
    """
    if path.is_dir():
        children = sorted(child.name for child in path.iterdir())
        files = (path / name for child in children for name in (child, f"{child}/*"))
        inside = map(_reader_of, files)
        reader = next((found[0].NAME for found in inside if found and found[0].WHOLE_FOLDER), None)
        reader = reader or (from_json.NAME if from_json.numbered(from_json.names_in(path)) else None)
        if reader is None:
            raise not_a_file(path, path.stat().st_mode)
        return MetricsSource(adapter=reader, path=path, name=path.name)
    return MetricsSource(adapter=_form_of(path), path=path, name=path.name)


def is_by_content(source: MetricsSource) -> bool:
    """Whether a source is read by what is in it, since its name says nothing."""
    is_loose = (
        source.path.suffix.lower() in content.ENDINGS and _reader_of(PurePath(source.path.name)) is None
    )
    return source.adapter in {from_json.NAME, from_printed.NAME} or is_loose


def _takes(adapter: Adapter, path: Path) -> bool:
    """Whether an adapter reads a file; that of an extension none which one of ours reads by its content."""
    is_loose = path.suffix.lower() in content.ENDINGS
    if isinstance(adapter, ForeignAdapter) and is_loose and content.holds_numbers(path):
        return False
    return adapter.reads(path)


def _form_of(path: Path) -> str:
    found = _reader_of(path)
    is_loose = path.suffix.lower() in content.ENDINGS
    if found and not (is_loose and path.is_file() and not _takes(found[0], path)):
        return found[0].NAME
    if is_loose and path.is_file():
        return content.form_of(path) or (from_printed.NAME if path.stat().st_size else from_jsonl.NAME)
    by_name = (
        adapter.NAME
        for adapter in adapters()
        if any(fnmatch(path.name, pattern) for pattern in adapter.PATTERNS)
    )
    return next(by_name, from_jsonl.NAME)


def find(run_dir: Path) -> MetricsSource | None:
    """The source that a run's curves are drawn from: the first of ``find_all``, naming the others."""
    found = find_all(run_dir)
    if not found:
        return None
    return replace(found[0], others=tuple(source.name for source in found[1:]))


def find_all(
    run_dir: Path, *, skipped: Collection[str] | None = None, by_content: bool = True
) -> tuple[MetricsSource, ...]:
    """Every source of metrics in a run folder and its subfolders; links to folders are not followed.

    Where those known by their names hold no number, files such as ``log.txt`` and ``results.json`` are looked
    into (``by_content``): JSON and tables are taken, and where there are none, logs with printed numbers.

    The order is fixed: JSON Lines before tables before event files, likelier names first, then the files
    nearest to the top, then by name. Names are without times and ids (``source_names``); of several that are
    then called alike, the second gets ``(2)``. What the harness writes (in a recipe's run ``source/`` and
    ``checkpoints/`` too) is left out, or what is ``skipped`` directly in the folder.
    """
    skipped = run_files.skipped_in(run_dir) if skipped is None else skipped
    ranked = _by_name(run_dir, skipped=skipped)
    if by_content and not any(map(_holds_number, ranked.values())):
        ranked |= _by_content(run_dir, skipped=skipped)
    return _with_lasting_names(ranked)


def _holds_number(source: MetricsSource) -> bool:
    try:
        return held_numbers.holds_number(adapter_named(source.adapter).read(source.path))
    except MetricsError:
        return True  # so that what is wrong with it is named


def _by_name(run_dir: Path, *, skipped: Collection[str]) -> dict[_Rank, MetricsSource]:
    ranked: dict[_Rank, MetricsSource] = {}
    for path in _files(run_dir, skipped=skipped):
        place = path.relative_to(run_dir)
        found = _reader_of(place)
        if found is None or not _takes(found[0], path):
            continue
        adapter, likeliness = found
        source, name = path, place.as_posix()
        if adapter.WHOLE_FOLDER:
            folder = _folder_of(place, adapter)
            is_nested = folder != place.parent
            name = folder.as_posix() if is_nested else (folder / f"{adapter.NAME} events").as_posix()
        rank = _Rank(adapter.ORDER, likeliness, len(PurePath(name).parts), name)
        if adapter.WHOLE_FOLDER and (is_nested or rank in ranked):
            source = run_dir / folder
        ranked[rank] = MetricsSource(adapter=adapter.NAME, path=source, name=name)
    return ranked


def unread_logs(run_dir: Path) -> dict[str, Path]:
    """Files that hold something like a log and are not read, since others are known by their names."""
    found = find_all(run_dir)
    by_name = find_all(run_dir, by_content=False)
    if not found:
        return {}
    others = _by_content(run_dir, skipped=run_files.NOT_METRICS) if by_name else {}
    printed = _by_content(run_dir, skipped=run_files.NOT_METRICS, printed=True)
    read = {source.path for source in found}
    of_all = (*others.values(), *printed.values())
    new = (source for source in of_all if source.path not in read and source.path.is_file())
    return {source_names.lasting(source.name): source.path for source in new}


def _by_content(
    run_dir: Path, *, skipped: Collection[str], printed: bool = False
) -> dict[_Rank, MetricsSource]:
    """The sources among files whose names say nothing; ``printed`` lines too where asked, or where alone."""
    places = [
        place
        for place in run_files.files_of_program(run_dir, skipped=skipped)
        if place.suffix.lower() in content.ENDINGS
    ]
    taken = content.forms_in(run_dir, places, printed=printed)
    orders = {adapter.NAME: adapter.ORDER for adapter in adapters()}
    return {
        _Rank(orders[form], 0, len(place.parts), name): MetricsSource(
            adapter=form, path=run_dir / place, name=name
        )
        for place, form in taken.items()
        for name in [
            f"{(place / '{number}.json').as_posix()}" if (run_dir / place).is_dir() else place.as_posix()
        ]
    }


class _Rank(NamedTuple):
    """Where a source stands among the others."""

    order: int
    likeliness: int
    depth: int
    name: str


def _with_lasting_names(ranked: Mapping[_Rank, MetricsSource]) -> tuple[MetricsSource, ...]:
    alike: dict[_Rank, list[MetricsSource]] = {}
    for rank, source in ranked.items():
        alike.setdefault(rank._replace(name=source_names.lasting(rank.name)), []).append(source)
    found = []
    for rank in sorted(alike):
        members = alike[rank]
        order = source_names.in_order_begun(
            (member.name, member.path.stat().st_mtime_ns) for member in members
        )
        for number, at in enumerate(order, start=1):
            name = rank.name if number == 1 else f"{rank.name} ({number})"
            found.append(replace(members[at], name=name))
    return tuple(found)


def _files(run_dir: Path, *, skipped: Collection[str]) -> Iterator[Path]:
    """Every file below a folder; by way of a link only one within it that is not found by its own name.

    Raises:
        MetricsError: Not all of it can be searched, or a metrics file is over a limit.
    """
    for entry in file_tree.walk(run_dir, skipped=skipped):
        path = run_dir / entry.name
        if entry.kind is Kind.OVER_LIMIT and (not entry.num_bytes or _reader_of(PurePath(entry.name))):
            fix = "leave it out of the folder, or compare the metrics files by name"
            raise MetricsError(f"the folder cannot be searched: {entry.because}", where=str(path), fix=fix)
        is_link = entry.kind is Kind.LINK
        if entry.kind in {Kind.FILE, Kind.SPECIAL} or (is_link and _leads_to_another(path, run_dir)):
            yield path


def _leads_to_another(link: Path, run_dir: Path) -> bool:
    """Whether a link leads to a file of this run whose own name says nothing of metrics."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    inside = target.is_file() and target.is_relative_to(run_dir.resolve())
    return inside and _reader_of(target.relative_to(run_dir.resolve())) is None


def _reader_of(path: PurePath) -> tuple[Adapter, int] | None:
    """Who reads a file, and how likely such a name is (0 is likeliest)."""
    parts = [part.lower() for part in path.parts]
    is_ours = run_files.is_ours(path.name)
    for adapter in (one for one in adapters() if one.ORDER < _BY_CONTENT):
        if is_ours and isinstance(adapter, ForeignAdapter):
            continue
        for likeliness, pattern in enumerate(adapter.PATTERNS):
            if _begins_at(parts, pattern) is not None:
                return adapter, likeliness
    return None


def _folder_of(place: PurePath, adapter: Adapter) -> PurePath:
    """The folder of a source that is a whole folder, from one of its files."""
    parts = [part.lower() for part in place.parts]
    begins = (_begins_at(parts, pattern) for pattern in adapter.PATTERNS)
    begin = next(at for at in begins if at is not None)
    return PurePath(*place.parts[: begin + 1]) if begin < len(parts) - 1 else place.parent


def _begins_at(parts: Sequence[str], pattern: str) -> int | None:
    """Which part of a path a pattern begins with; None where it does not fit.

    A pattern with ``/`` fits the end of a path, folder by folder; with ``**`` at its end, whatever is below.
    """
    *folders, last = pattern.split("/")
    ends = range(len(folders), len(parts)) if last == "**" else [len(parts) - 1] * (len(parts) > len(folders))
    for end in ends:
        begin = end - len(folders)
        if all(map(fnmatchcase, parts[begin:end], folders)) and (
            last == "**" or fnmatchcase(parts[end], last)
        ):
            return begin
    return None
