"""Texts in an archive as tokens of single characters, in blocks for a language model.

>>> corpus = Corpus(read_texts(archive, "_gut.txt"), held_out=("hamlet",), block_size=64)
>>> inputs, targets = corpus.blocks_at(torch.tensor([0, 64]), corpus.training)
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import torch
from torch import Tensor

from reprokit.errors import CannotRunError


def read_texts(archive: Path, members: str) -> dict[str, str]:
    """Name → text, in the order of the names.

    Args:
        archive: A tar file, compressed or not, of which nothing is unpacked to the disk; or a folder.
        members: Pattern of the paths of the texts in it, such as ``*/texts/*.txt``; ``*`` also stands for
            slashes. A text is ASCII, and its name is its file's without the ending.

    Raises:
        CannotRunError: It is no tar file, or a text is not ASCII.
    """
    found: dict[str, str] = {}
    try:
        for name, content in _members(archive, members):
            found[PurePosixPath(name).stem] = content.decode("ascii")
    except (tarfile.TarError, UnicodeDecodeError, EOFError) as error:
        raise CannotRunError(f"the texts cannot be read: {error}", where=str(archive)) from error
    return dict(sorted(found.items()))


class Corpus:
    """Two streams of tokens; a token is the place of a character among all that occur, sorted.

    Attributes:
        characters: All that occur, held-out texts included; a token is an index of it.
        training: int64 [characters]: the texts, by name, with two line breaks between them.
        validation: int64 [characters]: those that are held out, likewise.

    Args:
        texts: Name → text.
        held_out: Names of texts of which nothing is in ``training``.
        block_size: Characters in a block.
        device: Where the tokens lie.

    Raises:
        CannotRunError: A text that is held out is not there, or a split has not one block.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        *,
        held_out: Sequence[str],
        block_size: int,
        device: torch.device | str = "cpu",
    ) -> None:
        if missing := sorted(set(held_out) - texts.keys()):
            raise CannotRunError("no such text", expected=", ".join(sorted(texts)), actual=", ".join(missing))
        self.characters = "".join(sorted(set("\n".join(texts.values()))))
        self._places = torch.arange(block_size + 1, device=device)
        self.training, self.validation = (
            self.encode("\n\n".join(text for name, text in texts.items() if (name in held_out) == held)).to(
                device
            )
            for held in (False, True)
        )
        for split in (self.training, self.validation):
            if self.num_offsets(split) < 1:
                raise CannotRunError("a split of the texts is shorter than a block", actual=str(len(split)))

    def encode(self, text: str) -> Tensor:
        """Tokens, int64 [characters]."""
        codes = torch.frombuffer(bytearray(text, "ascii"), dtype=torch.uint8)
        table = torch.zeros(128, dtype=torch.int64)
        table[list(self.characters.encode("ascii"))] = torch.arange(len(self.characters))
        return table[codes.int()]

    def num_offsets(self, split: Tensor) -> int:
        """At how many places of ``training`` or ``validation`` a whole block and its targets begin."""
        return len(split) - len(self._places) + 1

    def blocks_at(self, offsets: Tensor, split: Tensor) -> tuple[Tensor, Tensor]:
        """The blocks that begin there and, for each of their characters, the one that follows.

        Args:
            offsets: int64 [blocks].
            split: ``training`` or ``validation``.

        Returns:
            Inputs and targets, both int64 [blocks, block_size].
        """
        blocks = split[offsets.to(split.device)[:, None] + self._places]
        return blocks[:, :-1], blocks[:, 1:]


def _members(archive: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file that fits."""
    if archive.is_dir():
        for path in sorted(archive.rglob("*")):
            name = path.relative_to(archive).as_posix()
            if path.is_file() and fnmatchcase(name, pattern):
                yield name, path.read_bytes()
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            stream = tar.extractfile(member) if fnmatchcase(member.name, pattern) else None
            if stream is not None:
                yield member.name, stream.read()
