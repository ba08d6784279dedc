"""The picture of the package, drawn from the code: the layers of the import contract, and docstrings.

$ python benchmarks/architecture.py            # writes docs/explanation/architecture.svg
$ python benchmarks/architecture.py --check    # exit code 1 where the picture there is another one
"""

from __future__ import annotations

import argparse
import ast
import html
import sys
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "explanation" / "architecture.svg"
WIDTH, MARGIN, GAP, COLUMNS = 1120, 24, 12, 4
LABEL_WIDTH, BOX_PADDING, LINE = 128, 10, 16
CHARACTERS = 31  # of a sentence, in one line of a box
#: What each layer is for, from the top; layers without a sentence are drawn together with the one above.
STORIES = {
    "api": "What programs build on",
    "features": "What a verdict can do without",
    "cli": "What a person types",
    "harness": "From a request to a verdict",
    "reports": "What a person sees",
    "diagnosis": "Looking for a cause",
    "checks": "What a verdict is made from",
    "capture": "What is recorded",
    "workspace": "Files, places, requests",
    "core": "The judge: pure",
    "errors": "Errors and secrets",
}


def layers() -> list[list[str]]:
    """The layers of the contract, from the top: names of modules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    first = next(contract for contract in contracts if contract["containers"] == ["reprokit"])
    return [[name.strip(" ()") for name in layer.split("|")] for layer in first["layers"]]


def stories() -> list[tuple[str, list[str]]]:
    """What a layer is for, and its modules; a layer without a title joins the one above."""
    found: list[tuple[str, list[str]]] = []
    for names in layers():
        title = next((STORIES[name] for name in names if name in STORIES), "")
        if title or not found:
            found.append((title, []))
        found[-1][1].extend(names)
    return found


def sentence(name: str) -> str:
    """The first sentence of a module's docstring."""
    path = ROOT / "reprokit" / name
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0].replace("``", "")


def features() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "reprokit" / "features").glob("*/declaration.py"))


def boxes(names: Sequence[str]) -> list[tuple[str, str]]:
    """Name and sentence of each box of a layer; each feature is a box of its own."""
    found = [(name, sentence(f"features/{name}")) for name in features()] if "features" in names else []
    return found + [(name, sentence(name)) for name in names if name != "features"]


def box(name: str, lines: Sequence[str], *, x: float, y: float, width: float, height: float) -> list[str]:
    """A module: its name, and below it what it is for."""
    left = x + BOX_PADDING
    return [
        f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="4"/>',
        f'<text class="name" x="{left:.0f}" y="{y + 22:.0f}">{html.escape(name)}</text>',
        *(
            f'<text x="{left:.0f}" y="{y + 22 + LINE * line:.0f}">{html.escape(text)}</text>'
            for line, text in enumerate(lines, start=1)
        ),
    ]


def drawn() -> str:
    """The picture as SVG, the same bytes for the same code."""
    parts, top = [], MARGIN
    column = (WIDTH - 2 * MARGIN - LABEL_WIDTH - (COLUMNS - 1) * GAP) / COLUMNS
    for number, (title, names) in enumerate(stories()):
        inside = [(name, textwrap.wrap(text, CHARACTERS)) for name, text in boxes(names)]
        rows = [inside[start : start + COLUMNS] for start in range(0, len(inside), COLUMNS)]
        heights = [BOX_PADDING * 2 + LINE * (1 + max(len(lines) for _, lines in row)) for row in rows]
        height = sum(heights) + GAP * (len(rows) + 1)
        parts.append(
            f'<rect class="layer{number % 2}" x="{MARGIN / 2}" y="{top}" width="{WIDTH - MARGIN}" '
            f'height="{height}" rx="6"/>'
        )
        for line, text in enumerate(textwrap.wrap(title, 14)):
            parts.append(
                f'<text class="title" x="{MARGIN}" y="{top + 28 + line * 18}">{html.escape(text)}</text>'
            )
        y = float(top + GAP)
        for row, row_height in zip(rows, heights, strict=True):
            for place, (name, lines) in enumerate(row):
                x = MARGIN + LABEL_WIDTH + place * (column + GAP)
                parts += box(name, lines, x=x, y=y, width=column, height=row_height)
            y += row_height + GAP
        top += height + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + MARGIN - GAP}" role="img">',
            "<title>The layers of reprokit: each may import those below it, and none above</title>",
            "<style>",
            "text { font: 12px system-ui, sans-serif; fill: #333 }",
            ".title { font-size: 13px; font-weight: 600; fill: #111 }",
            ".name { font-weight: 600; font-size: 13px; fill: #0b4f8a }",
            ".box { fill: #fff; stroke: #c8d0d8 }",
            ".layer0 { fill: #eef3f7 } .layer1 { fill: #f6f4ee }",
            "</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        fresh = PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == drawn()
        if not fresh:
            print(
                f"{PICTURE.relative_to(ROOT)} is not what the code is: python benchmarks/architecture.py",
                file=sys.stderr,
            )
        return int(not fresh)
    PICTURE.write_text(drawn(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
