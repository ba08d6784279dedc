"""Texts become tokens that can be read back; what is held out is in no block that is trained on."""

import io
import tarfile

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.characters import Corpus, read_texts  # noqa: E402
from reprokit.errors import CannotRunError  # noqa: E402


def an_archive(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_the_texts_of_an_archive_are_read_in_the_order_of_their_names(tmp_path, mode):
    members = {
        "p-1/texts/b.txt": b"to be\n",
        "p-1/texts/a.txt": b"or not\n",
        "p-1/other/c.txt": b"\xff",
        "p-1/texts/d.html": b"",
    }
    texts = read_texts(an_archive(tmp_path / "p.tar", members, mode), "*/texts/*.txt")
    assert list(texts.items()) == [("a", "or not\n"), ("b", "to be\n")]


def test_the_texts_of_a_folder_are_those_of_the_archive_that_it_was_unpacked_from(tmp_path):
    members = {"p-1/texts/b.txt": b"to be\n", "p-1/texts/a.txt": b"or not\n", "p-1/other/c.txt": b"\xff"}
    archive = an_archive(tmp_path / "p.tar", members)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "p", filter="data")
    assert read_texts(tmp_path / "p", "*/texts/*.txt") == read_texts(archive, "*/texts/*.txt")
    with pytest.raises(CannotRunError, match="cannot be read"):
        read_texts(tmp_path / "p", "*.txt")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "p.tar"
    path.write_bytes(content)
    with pytest.raises(CannotRunError, match="cannot be read"):
        read_texts(path, "*")


def test_an_archive_that_is_cut_is_refused(tmp_path):
    noise = bytes(byte % 128 for byte in torch.randint(128, (10_000,)).tolist())
    path = an_archive(tmp_path / "p.tar", {"a.txt": noise})
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(CannotRunError, match="cannot be read"):
        read_texts(path, "*.txt")


def test_a_text_of_other_characters_is_refused(tmp_path):
    path = an_archive(tmp_path / "p.tar", {"a.txt": "café".encode()})
    with pytest.raises(CannotRunError, match="cannot be read"):
        read_texts(path, "*.txt")


@pytest.fixture
def corpus():
    return Corpus({"a": "abcdefgh", "b": "zyx", "c": "hgfed"}, held_out=["b"], block_size=2)


def decoded(corpus, tokens):
    return "".join(corpus.characters[token] for token in tokens.tolist())


def test_tokens_are_places_in_the_sorted_characters_of_all_texts(corpus):
    assert corpus.characters == "\nabcdefghxyz"
    assert decoded(corpus, corpus.encode("head")) == "head"


def test_a_text_that_is_held_out_is_in_no_block_of_the_training(corpus):
    assert decoded(corpus, corpus.training) == "abcdefgh\n\nhgfed"
    assert decoded(corpus, corpus.validation) == "zyx"


def test_a_target_is_the_character_that_follows(corpus):
    inputs, targets = corpus.blocks_at(torch.tensor([0, 11]), corpus.training)
    assert [decoded(corpus, row) for row in inputs] == ["ab", "gf"]
    assert [decoded(corpus, row) for row in targets] == ["bc", "fe"]


def test_the_last_offset_still_has_its_targets_and_the_next_one_has_not(corpus):
    number = corpus.num_offsets(corpus.training)
    _, targets = corpus.blocks_at(torch.tensor([number - 1]), corpus.training)
    assert decoded(corpus, targets[0]) == "ed"
    with pytest.raises(IndexError):
        corpus.blocks_at(torch.tensor([number]), corpus.training)


def test_a_text_that_is_not_there_cannot_be_held_out():
    with pytest.raises(CannotRunError, match=r"no such text.*hamlet"):
        Corpus({"a": "abc"}, held_out=["hamlet"], block_size=1)


@pytest.mark.parametrize("texts", [{"a": "abc", "b": "ab"}, {"a": "ab", "b": "abc"}])
def test_a_split_without_one_block_is_refused(texts):
    with pytest.raises(CannotRunError, match="shorter than a block"):
        Corpus(texts, held_out=["b"], block_size=2)
