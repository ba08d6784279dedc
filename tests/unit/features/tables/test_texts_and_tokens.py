"""Texts by lines and documents, and tokens of them in arrays that are never in memory as a whole."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from reprokit import data
from reprokit.errors import UsageError
from reprokit.features.tables import data_tables
from reprokit.features.tables.manifest import manifest_of
from reprokit.features.tables.row_diff import diff_rows
from reprokit.features.tables.vocabulary import decode, encode, read_vocabulary
from support.command_line import reprokit

TEXT = "to be\nor not\n\n\nto be\nthat is\n  \nthe question é\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_lines_are_rows_and_characters_are_counted(text):
    found = manifest_of([text])
    assert (found.num_rows, found.duplicates) == (8, 2)
    told = found.statistics
    assert (told["characters"], told["not_ascii"], told["longest"]) == (39, 1, 14)
    assert told["distinct_characters"] == len(set(TEXT) - {"\n"})
    assert next(iter(told["most_common"].items())) == (" ", TEXT.count(" "))


def test_documents_stand_between_empty_lines_or_are_files(text, tmp_path):
    rows = list(data.rows(text, form="documents"))
    assert [(row.line, row.values["text"]) for row in rows] == [
        (2, "to be\nor not"),
        (6, "to be\nthat is"),
        (8, "the question é"),
    ]
    (tmp_path / "plays" / "b").mkdir(parents=True)
    for name in ("a.txt", "b/a.txt"):
        (tmp_path / "plays" / name).write_text("to be")
    found = manifest_of([tmp_path / "plays"], form="documents")
    assert (found.num_rows, found.duplicates) == (2, 1)


@pytest.mark.parametrize("form", ["lines", "documents"])
def test_a_split_of_a_text_shares_no_row(text, tmp_path, form):
    text.write_text("".join(f"line {number}\n\n" for number in range(60)))
    shares = {"train": 0.5, "test": 0.5}
    data_tables.split_into(f"{text}::{form}", tmp_path / "out", shares, key=["text"], stratify="", salt="")
    parts = {name: tmp_path / "out" / f"{name}.txt" for name in shares}
    shared = data.overlaps(parts, forms=dict.fromkeys(parts, form))
    assert (shared.num_rows, shared.num_duplicates) == ({"lines": 120, "documents": 60}[form], 0)


def test_documents_in_a_folder_are_split_into_folders(tmp_path):
    (tmp_path / "plays").mkdir()
    for number in range(20):
        (tmp_path / "plays" / f"{number}.txt").write_text(f"play {number // 2}")
    shares = {"train": 0.5, "test": 0.5}
    place = f"{tmp_path / 'plays'}::documents"
    data_tables.split_into(place, tmp_path / "out", shares, key=[], stratify="", salt="")
    parts = {name: tmp_path / "out" / name for name in shares}
    shared = data.overlaps(parts, forms=dict.fromkeys(parts, "documents"))
    assert (shared.num_rows, shared.num_duplicates) == (20, 0)


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(UsageError, match=r"a\.txt:2: the text is not UTF-8"):
        list(data.rows(tmp_path / "a.txt"))


@pytest.mark.parametrize("name", ["t.npy", "t.bin"])
def test_a_text_becomes_tokens_and_a_text_again(text, tmp_path, capsys, name):
    target = tmp_path / name
    assert reprokit("data", "export", text, "--output", target) == 0
    vocabulary = tmp_path / f"{name}.vocabulary.json"
    assert json.loads(vocabulary.read_text()) == sorted(set(TEXT))
    form = "::tokens/uint16" if name == "t.bin" else ""
    back = tmp_path / "b.txt"
    assert reprokit("data", "export", f"{target}{form}", "--output", back, "--vocabulary", vocabulary) == 0
    assert back.read_text(encoding="utf-8") == TEXT
    assert reprokit("data", "show", f"{target}{form}", "--json") == 0
    told = json.loads(capsys.readouterr().out.partition("{\n")[2].join(["{\n", ""]))
    (found,) = told.values()
    assert found["statistics"] == {"tokens": len(TEXT), "smallest": 0, "largest": len(set(TEXT)) - 1}


@pytest.mark.parametrize(("name", "target"), [("a.csv", "b.npy"), ("a.csv", "b.txt"), ("a.txt", "b.txt")])
def test_only_texts_become_tokens_and_only_tokens_texts(text, tmp_path, capsys, name, target):
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert reprokit("data", "export", tmp_path / name, "--output", tmp_path / target) == 2
    assert "become" in capsys.readouterr().err
    assert not (tmp_path / target).exists()


def test_what_a_vocabulary_has_not_is_refused(text, tmp_path):
    small = tmp_path / "v.json"
    small.write_text(json.dumps(sorted(set(TEXT) - {"q"})))
    with pytest.raises(UsageError, match="the vocabulary has no 'q'"):
        encode(text, tmp_path / "t.npy", read_vocabulary(small))
    np.save(tmp_path / "t.npy", np.array([0, 1, len(set(TEXT)) - 1], dtype="u2"))
    with pytest.raises(UsageError, match="beyond the vocabulary: 14"):
        decode(tmp_path / "t.npy", "tokens", tmp_path / "b.txt", read_vocabulary(small))
    for wrong in ('["a", "a"]', '["ab"]', '{"a": 0}', "x"):
        small.write_text(wrong)
        with pytest.raises(UsageError, match=r"no vocabulary|cannot be read"):
            read_vocabulary(small)


STREAM = np.random.default_rng(1).integers(0, 50_000, 64 * 30 + 7)


def test_the_same_tokens_are_the_same_rows_whatever_their_type(tmp_path):
    np.save(tmp_path / "a.npy", STREAM.astype("u2"))
    STREAM.astype("<u4").tofile(tmp_path / "b.bin")
    np.save(tmp_path / "c.npy", STREAM[: 64 * 30].reshape(30, 64))
    found = diff_rows(tmp_path / "a.npy", tmp_path / "b.bin", forms=("tokens/uint16/64", "tokens/uint32/64"))
    assert (found.num_before, found.same_rows) == (31, True)
    found = diff_rows(tmp_path / "a.npy", tmp_path / "c.npy", forms=("tokens/uint16/64", "tokens"))
    assert [row.line for row in found.went] == [31]


def test_a_changed_token_and_a_row_in_two_splits_are_found(tmp_path):
    other = STREAM.copy()
    other[64 * 3] += 1
    np.save(tmp_path / "a.npy", STREAM)
    np.save(tmp_path / "b.npy", other)
    forms = ("tokens/int64/64", "tokens/int64/64")
    found = diff_rows(tmp_path / "a.npy", tmp_path / "b.npy", forms=forms)
    assert ([row.line for row in found.came], [row.line for row in found.went]) == ([4], [4])
    paths = {"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"}
    assert data.overlaps(paths, forms=dict.fromkeys(paths, forms[0])).num_duplicates == 30


@pytest.mark.parametrize("name", ["a.npy", "a.bin"])
def test_a_split_of_tokens_keeps_every_row_and_type(tmp_path, name):
    path = tmp_path / name
    np.save(path, STREAM.astype("u2")) if name == "a.npy" else STREAM.astype("<u2").tofile(path)
    shares = {"train": 0.5, "test": 0.5}
    record = data_tables.split_into(
        f"{path}::tokens/uint16/64", tmp_path / "out", shares, key=[], stratify="", salt=""
    )
    assert sum(one["rows"] for one in record["parts"].values()) == 31
    parts = [tmp_path / "out" / one["file"] for one in record["parts"].values()]
    found = [np.load(one) if name == "a.npy" else np.fromfile(one, "<u2") for one in parts]
    assert {one.dtype for one in found} == {np.dtype("u2")}
    assert sorted(np.concatenate(found).tolist()) == sorted(STREAM.tolist())


WRONG = {
    "no type": ("a.bin", "tokens", "nothing says how its numbers are stored"),
    "another type": ("a.npy", "tokens/uint8", "not a shard of tokens"),
    "an unknown type": ("a.npy", "tokens/float32", "not a known form"),
    "no row": ("a.npy", "tokens/uint16/0", "at least one token"),
    "a size that is no multiple": ("odd.bin", "tokens/uint16", "not a shard of tokens"),
    "nothing": ("empty.bin", "tokens/uint16", "not a shard of tokens"),
    "other numbers": ("float.npy", "tokens", "not a shard of tokens"),
    "three dimensions": ("deep.npy", "tokens", "not a shard of tokens"),
    "objects": ("object.npy", "tokens", "not a shard of tokens"),
    "another length of rows": ("rows.npy", "tokens/int64/5", "its rows have a different length"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_shard_is_refused(tmp_path, case):
    np.save(tmp_path / "a.npy", STREAM.astype("u2"))
    STREAM.astype("<u2").tofile(tmp_path / "a.bin")
    (tmp_path / "odd.bin").write_bytes(bytes(3))
    (tmp_path / "empty.bin").write_bytes(b"")
    np.save(tmp_path / "float.npy", np.zeros(3))
    np.save(tmp_path / "deep.npy", np.zeros((2, 2, 2), dtype="u2"))
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "rows.npy", np.zeros((2, 4), dtype="i8"))
    name, form, told = WRONG[case]
    with pytest.raises(UsageError, match=told):
        list(data.rows(tmp_path / name, form=form))


def test_memory_stays_small_however_large_a_shard_is(tmp_path):
    path = tmp_path / "large.bin"
    with path.open("wb") as stream:
        stream.truncate(64 << 20)
    tracemalloc.start()
    try:
        found = manifest_of([path], form="tokens/uint16/65536")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.statistics["tokens"], found.num_rows) == (32 << 20, 512)
    assert peak < 4 << 20
