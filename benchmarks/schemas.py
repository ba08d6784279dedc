"""JSON Schemas of every file and every ``--json`` answer, written from the records, and their page.

$ python benchmarks/schemas.py            # writes docs/reference/schemas/ and docs/reference/schemas.md
$ python benchmarks/schemas.py --check    # exit code 1 where what is there is not what it would write
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from json_schema import SchemaWriter
from schema_documents import Document, documents

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
FOLDER, PAGE = REFERENCE / "schemas", REFERENCE / "schemas.md"
_INTRODUCTION = """# JSON Schemas

Schemas (draft 2020-12) of every file that reprokit writes and every answer that `--json` prints. They are
made by `make schemas` from the records that reprokit itself reads and writes with. [Files](files.md) says
what the files are for.

Keys are added, never renamed, so a schema allows keys that it does not name. In documents with `"x-words":
true` a number that is not finite is one of the words `"NaN"`, `"Infinity"` and `"-Infinity"`. Documents with
`"x-open": true` also hold facts that no schema names, such as the versions of packages.
"""


def schema_of(document: Document) -> str:
    """The text of one schema."""
    found = SchemaWriter(words=document.words).document(
        document.form, name=f"{document.name}.json", title=document.title
    )
    about = {"x-verbs": list(document.verbs), "x-file": document.file}
    found |= {**about, "x-words": document.words, "x-open": document.is_open}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def page_of(every: tuple[Document, ...]) -> str:
    """The page that lists them."""
    lines = [_INTRODUCTION, "| schema | of | printed by |", "|---|---|---|"]
    for one in every:
        verbs = ", ".join(
            f"`{verb} {'' if '--' in verb else '--json'}`".replace(" `", "`") for verb in one.verbs
        )
        lines.append(f"| [{one.name}](schemas/{one.name}.json) | {one.title} | {verbs} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    every = documents()
    wanted = {FOLDER / f"{one.name}.json": schema_of(one) for one in every} | {PAGE: page_of(every)}
    there = {
        path: path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.json"), PAGE) if path.exists()
    }
    if parser.parse_args().check:
        old = sorted(
            path.name for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path)
        )
        print(f"old: {', '.join(old)}; make schemas writes them" if old else "all schemas are up to date")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for path in there.keys() - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
