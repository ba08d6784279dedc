"""Links between pages: every one leads somewhere, here and on the package's page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import markdown_it
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks/README.md",
]


def links_of(text: str) -> list[str]:
    inline = [token for token in markdown_it.MarkdownIt().parse(text) if token.type == "inline"]
    every = [child for token in inline for child in token.children or ()]
    targets = [child.attrGet("href") or child.attrGet("src") for child in every if child.type != "link_close"]
    return [str(target) for target in targets if target]


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in heads]
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(page):
    lost = []
    for link in links_of(page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors_of(file)):
            lost.append(link)
    assert lost == []


def test_the_index_leads_to_every_page():
    linked = {
        (ROOT / "docs" / link.partition("#")[0]).resolve()
        for link in links_of((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    }
    kinds = ("tutorial", "how-to", "reference", "explanation", "evidence")
    pages = {path for kind in kinds for path in (ROOT / "docs" / kind).glob("*.md")}
    assert pages
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked) == []


def test_the_page_of_the_package_has_no_relative_link():
    # in a process of its own: setuptools warns where something else has imported distutils before
    program = (
        "import runpy; made = runpy.run_path('setup.py'); print(made['readme']()); "
        "print(made['with_absolute_links']"
        "('[a](docs/a.md#b) ![c](c.svg) [d](#e)', repository='https://h/o/r'), end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    page, _, moved = done.stdout.rpartition("\n")
    assert len(page) > 1000
    assert [link for link in links_of(page) if not re.match("https://|#", link)] == []
    assert moved == "[a](https://h/o/r/blob/main/docs/a.md#b) ![c](https://h/o/r/raw/main/c.svg) [d](#e)"
