r"""A reproducibility statement in Markdown, and as LaTeX to be taken into a paper with ``\input``.

The LaTeX needs no package: a letter beyond Latin-1 is written as its code point.

    >>> latex(Visible("100 % of_it"))
    '100 \\% of\\_it'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from reprokit.features.statement.statement import Item, Statement, StatementPart
from reprokit.reports.escaping import Visible, markdown, markdown_block, markdown_prose, pieces

# Source: LaTeX2e: An unofficial reference manual, "Special characters"; and the ligatures of TeX's fonts.
_LATEX: Mapping[str, str] = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",
    "]": "{]}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "→": r"\ensuremath{\rightarrow}",
}
#: Where TeX would join two signs into another one.
_JOINED = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)")
_LONG_WORD = re.compile(r"[^\s]{24,}")
_LETTERS = range(0xA1, 0x100)


def to_markdown(statement: Statement) -> str:
    """The statement as Markdown."""
    return "\n\n".join([f"# {markdown(statement.title)}", *map(_markdown_part, statement.parts)]) + "\n"


def to_latex(statement: Statement) -> str:
    """The statement as a section of a paper: no preamble, no package."""
    lead = (
        "% Drawn by `reprokit report export`: draw it again instead of changing it. LaTeX of 2020 or later."
    )
    parts = [f"\\section*{{{latex(statement.title)}}}", *map(_latex_part, statement.parts)]
    return "\n\n".join([lead, *parts]) + "\n"


def _markdown_part(part: StatementPart) -> str:
    lines = [f"## {part.title}"]
    if part.sentences:
        lines.append(" ".join(map(markdown_prose, part.sentences)))
    if part.command:
        lines.append(markdown_block((part.command,)))
    if part.items:
        lines.append(
            "\n".join(f"- {_item(item, prose=markdown_prose, strong='**{}**'.format)}" for item in part.items)
        )
    return "\n\n".join(lines)


def _latex_part(part: StatementPart) -> str:
    lines = [f"\\paragraph{{{latex(Visible(part.title))}.}}"]
    if part.sentences:
        lines.append(" ".join(map(_latex_prose, part.sentences)))
    if part.command:
        lines.append(f"\\begin{{flushleft}}\n{_latex_code(part.command)}\n\\end{{flushleft}}")
    if part.items:
        items = [f"  \\item {_item(item, prose=_latex_prose, strong=_textbf)}" for item in part.items]
        lines.append("\n".join(["\\begin{itemize}", *items, "\\end{itemize}"]))
    return "\n".join(lines)


def _item(item: Item, *, prose: Callable[[Visible], str], strong: Callable[[str], str]) -> str:
    """``Question? **Answer**: reason; reason``."""
    label = prose(item.label)
    label = label if item.label.endswith(("?", ".")) else f"{label}:"
    answer = strong(prose(item.answer)) if item.reasons else prose(item.answer)
    reasons = "; ".join(map(prose, item.reasons))
    return f"{label} {answer}" + (f": {reasons}" if reasons else "")


def _textbf(text: str) -> str:
    return f"\\textbf{{{text}}}"


def latex(text: Visible) -> str:
    """A text as LaTeX prints it, letter for letter; nothing in it is a command or begins one."""
    return _JOINED.sub("{}", "".join(map(_latex_letter, text)))


def _latex_letter(letter: str) -> str:
    if letter in _LATEX:
        return _LATEX[letter]
    if letter.isascii() or (ord(letter) in _LETTERS and letter.isalpha()):
        return letter
    return f"{{[}}U+{ord(letter):04X}{{]}}"


def _latex_prose(text: Visible) -> str:
    """Prose with its commands in code type."""
    parts = ((_words(piece), is_code) for piece, is_code in pieces(text))
    return "".join(f"\\texttt{{{part}}}" if is_code else part for part, is_code in parts)


def _latex_code(text: Visible) -> str:
    return f"\\texttt{{{_words(text)}}}"


def _words(text: Visible) -> str:
    return "".join(map(_breakable, re.split(r"(\s+)", text)))


def _breakable(word: str) -> str:
    """A word; a long one may be broken after every eighth letter."""
    chunks = [latex(Visible(word[at : at + 8])) for at in range(0, len(word), 8)]
    return "\\allowbreak{}".join(chunks) if _LONG_WORD.fullmatch(word) else latex(Visible(word))
