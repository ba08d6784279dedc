"""The published JSON Schemas: whether a document is what its schema says, and no more."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import jsonschema

from reprokit import cli

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"


@functools.cache
def schemas() -> Mapping[str, Mapping[str, Any]]:
    """Name → schema."""
    return {file.stem: json.loads(file.read_bytes()) for file in FOLDER.glob("*.json")}


def problem(document: Any, name: str) -> str:
    """What is wrong with a document that this version wrote, by the schema of a name; "" where nothing is.

    A schema allows keys that a later version adds; of this version's documents they are a mistake in it.
    """
    error = jsonschema.exceptions.best_match(_validator(name).iter_errors(document))
    return "" if error is None else f"{name}: {error.json_path}: {error.message[:400]}"


def problems_below(folder: Path) -> list[str]:
    """The same of every file below a folder that has a schema by its name."""
    names = {
        schema["x-file"]: name for name, schema in schemas().items() if schema["x-file"].endswith(".json")
    }
    files = [file for file in sorted(folder.rglob("*.json")) if file.name in names]
    found = [(file, problem(json.loads(file.read_bytes()), names[file.name])) for file in files]
    assert files, f"no file below {folder} has a schema"
    return [f"{file}: {what}" for file, what in found if what]


def printed_problem(command: str, document: Any) -> str:
    """The same of what a verb prints with ``--json``; its options may decide between several schemas."""
    names = [name for name, schema in schemas().items() if _is_of(schema, command)]
    found = [problem(document, name) for name in names]
    return "" if "" in found else "; ".join(found) or f"no schema is of `{command} --json`"


def full_name(context: click.Context) -> str:
    """What a verb is called now, whatever name it was typed under: ``runs checkpoint diff``."""
    path = context.command_path
    if context.find_root().command is cli.root:
        _, _, path = path.partition(" ")
    first, _, rest = path.partition(" ")
    verb = cli.verbs().get(first)
    return " ".join(filter(None, (verb.now if verb and verb.now else first, rest)))


def verbs_with_json(command: click.Command, context: click.Context) -> Iterator[str]:
    """Every verb below a command that has ``--json``, but for old names."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from verbs_with_json(below, click.Context(below, parent=context, info_name=name))
    if any(one.name == "as_json" for one in command.params):
        yield full_name(context)


def _is_of(schema: Mapping[str, Any], command: str) -> bool:
    words = command.partition(" --")[0]
    return any(verb.partition(" --")[0] == words for verb in schema["x-verbs"])


@functools.cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = schemas()[name]
    return jsonschema.Draft202012Validator(schema if schema["x-open"] else _closed(schema))


def _closed(schema: Any) -> Any:
    """A schema in which an object has no keys but those that are named."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: _closed(one) for key, one in schema.items()}
    is_object = schema.get("type") == "object" and "properties" in schema
    return {"additionalProperties": False, **closed} if is_object else closed
