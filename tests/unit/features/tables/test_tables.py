"""Manifests, differences and splits of tables."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from reprokit import data
from reprokit.data.tables import rows
from reprokit.errors import UsageError
from reprokit.features.tables.manifest import manifest_of
from reprokit.features.tables.row_diff import diff_rows
from reprokit.features.tables.splitting import split
from support.command_line import reprokit

CSV = "id,height,kind\n1,1.5,a\n2,2.5,b\n3,,b\n3,,b\n"


def many(number: int) -> str:
    return "id,kind\n" + "".join(f"{row},{'rare' if row % 10 == 0 else 'usual'}\n" for row in range(number))


def parts_of(path, **how) -> dict[str, str]:
    """Identity of a row → its part."""
    found = split(path, {"train": 0.8, "test": 0.2}, **how)
    return {row.values["id"]: part.name for part in found for row in part.rows}


def test_a_manifest_counts_rows_duplicates_missing_values_and_classes(table):
    found = manifest_of([table(CSV)])
    assert (found.num_rows, found.duplicates) == (4, 1)
    height, kind = found.columns["height"], found.columns["kind"]
    assert (height.kind, height.missing, height.mean, height.minimum, height.maximum) == (
        "number",
        2,
        2.0,
        1.5,
        2.5,
    )
    assert height.deviation == pytest.approx(0.5**0.5)
    assert (kind.kind, kind.classes) == ("text", {"a": 1, "b": 3})


def test_a_version_is_the_digest_of_its_files(table):
    first, same, other = (manifest_of([table(text)]).version for text in (CSV, CSV, CSV + "4,1,a\n"))
    assert first == same != other


def test_json_lines_keep_kinds_apart_and_may_lack_columns(table):
    found = manifest_of([table('{"a": 1}\n{"a": "x", "b": [1]}\n{"b": null}\n', "a.jsonl")])
    assert (found.columns["a"].kind, found.columns["a"].missing) == ("mixed", 1)
    assert (found.columns["b"].kind, found.columns["b"].missing) == ("structure", 2)


BROKEN = {
    "fewer fields": ("a,b\n1\n", "a.csv", r"a\.csv:2: the row and the header have different numbers"),
    "a column twice": ("a,a\n1,2\n", "a.csv", r"a\.csv:1: the header names a column twice"),
    "nothing": ("", "a.csv", r"a\.csv:1: the table has no header"),
    "an open quote": ('a\n"1\n', "a.csv", "cannot be read"),
    "no object": ("[1]\n", "a.jsonl", r"a\.jsonl:1: not a JSON object"),
    "a key twice": ('{"a": 1, "a": 2}\n', "a.jsonl", "the key 'a' is repeated"),
    "not a number": ('{"a": [NaN]}\n', "a.jsonl", "is not a number"),
    "an infinity": ('{"a": [1e999]}\n', "a.jsonl", "is not a number"),
    "another kind of file": ("a", "a.bin", "not a table"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_no_table_is_refused_with_its_line(table, fault):
    text, name, told = BROKEN[fault]
    with pytest.raises(UsageError, match=told):
        manifest_of([table(text, name)])


def test_rows_that_came_went_and_changed_are_told_apart_by_their_key(table):
    before = table("id,x\n1,a\n2,b\n3,c\n", "before.csv")
    after = table("id,x\n4,d\n1,a\n2,B\n", "after.csv")
    found = diff_rows(before, after, key=["id"])
    assert [row.values["id"] for row in found.came] == ["4"]
    assert [row.values["id"] for row in found.went] == ["3"]
    (changed,) = found.changed
    assert (changed.key, changed.columns, changed.line_before, changed.line_after) == (
        {"id": "2"},
        {"x": ("b", "B")},
        3,
        4,
    )


def test_the_same_rows_in_another_order_are_no_other_rows(table):
    found = diff_rows(table("a\n1\n2\n", "x.csv"), table("a\n2\n1\n", "y.csv"))
    assert (found.same_rows, found.is_reordered) == (True, True)


def test_a_row_that_is_there_once_more_came(table):
    found = diff_rows(table("a\n1\n", "x.csv"), table("a\n1\n1\n", "y.csv"))
    assert (len(found.came), len(found.went)) == (1, 0)


def test_a_key_of_two_rows_is_refused(table):
    with pytest.raises(UsageError, match="stands for two rows: lines 2 and 3"):
        diff_rows(table("a,b\n1,1\n1,2\n", "x.csv"), table("a,b\n1,3\n", "y.csv"), key=["a"])


def test_a_row_keeps_its_part_when_rows_come_or_move(table):
    before = parts_of(table(many(2000)))
    header, *lines = many(3000).splitlines(keepends=True)
    random.Random(7).shuffle(lines)
    after = parts_of(table(header + "".join(lines)))
    assert {name: after[name] for name in before} == before
    assert 0.75 < sum(part == "train" for part in after.values()) / 3000 < 0.85


def test_a_stratified_split_keeps_the_balance_of_classes(table):
    found = split(table(many(1000)), {"train": 0.8, "test": 0.2}, stratify="kind")
    rare = [sum(row.values["kind"] == "rare" for row in part.rows) for part in found]
    assert (rare, [len(part.rows) for part in found]) == ([80, 20], [800, 200])


@pytest.mark.parametrize("how", [{}, {"stratify": "kind"}])
def test_rows_of_one_identity_are_in_one_part(table, how):
    text = "id,kind\n" + "".join(f"{row % 50},a\n" for row in range(500))
    found = split(table(text), {"train": 0.5, "test": 0.5}, key=["id"], **how)
    train, test = ({row.values["id"] for row in part.rows} for part in found)
    assert (len(train) > 0, len(test) > 0, train & test) == (True, True, set())


def test_one_identity_with_two_classes_cannot_be_stratified(table):
    kinds = [(row, kind) for row in range(60) for kind in ("ab" if row >= 30 else "a")]
    text = "id,kind\n" + "".join(f"{row},{kind}\n" for row, kind in kinds)
    with pytest.raises(UsageError, match="two values of the column to stratify by"):
        split(table(text), {"train": 0.5, "test": 0.5}, key=["id"], stratify="kind", salt="1")


def test_a_row_in_two_parts_is_found_with_both_lines(table):
    train, test = table("id,x\n1,a\n2,b\n", "train.csv"), table("id,x\n3,c\n2,B\n", "test.csv")
    assert data.overlaps({"train": train, "test": test}).num_duplicates == 0
    found = data.overlaps({"train": train, "test": test}, key=["id"])
    assert (found.num_rows, found.num_duplicates, found.first) == (4, 1, (("test", 3, "train", 3),))


def test_another_salt_is_another_split(table):
    assert parts_of(table(many(100))) != parts_of(table(many(100)), salt="other")


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}])
def test_shares_that_are_not_a_whole_are_refused(table, shares):
    with pytest.raises(UsageError, match="1 together"):
        split(table(CSV), shares)


def test_the_verbs_print_what_they_find(table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = table(many(100), "all.csv")
    words = ["--part", "train=0.8", "--part", "test=0.2", "--key", "id", "--output", tmp_path / "parts"]
    assert reprokit("data", "split", whole, *words) == 0
    record = json.loads((tmp_path / "parts" / "split.json").read_text())
    assert sum(part["rows"] for part in record["parts"].values()) == 100
    assert reprokit("data", "split", whole, *words) == 2  # the folder is not empty
    capsys.readouterr()
    assert reprokit("data", "show", whole, "--json") == 0
    assert json.loads(capsys.readouterr().out)["all.csv"]["num_rows"] == 100
    assert reprokit("data", "diff", whole, whole) == 0
    assert reprokit("data", "diff", whole, tmp_path / "parts" / "train.csv", "--key", "id") == 1
    assert "0 came" in capsys.readouterr().out
    assert reprokit("data", "diff", whole, "gone.csv") == 2


@pytest.mark.parametrize(("content", "end"), [("id,x\n", "csv"), ("\ufeffid,x\n", "csv"), ("id\tx\n", "tsv")])
def test_a_table_of_a_header_keeps_it_in_every_part_and_in_another_format(table, tmp_path, content, end):
    whole = table(content, f"all.{end}")
    words = ["--part", "train=0.8", "--part", "test=0.2", "--output", tmp_path / "parts"]
    assert reprokit("data", "split", whole, *words) == 0
    for name in ("train", "test"):
        assert (tmp_path / "parts" / f"{name}.{end}").read_text() == content.removeprefix("\ufeff")
    assert reprokit("data", "export", whole, "--output", tmp_path / "other.csv") == 0
    assert (tmp_path / "other.csv").read_text() == "id,x\n"


def test_a_table_packed_by_gzip_has_the_rows_of_the_plain_one(tmp_path):
    text = "name,size\na,1\nb,2\n"
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    plain, packed = (list(rows(tmp_path / name)) for name in ("plain.csv", "packed.csv.gz"))
    assert packed == plain
    assert packed[1].values == {"name": "b", "size": "2"}


@pytest.mark.parametrize("cut", [12, 25])
def test_a_packed_table_that_is_cut_is_refused(tmp_path, cut):
    whole = gzip.compress(b"name,size\na,1\nb,2\n")
    (tmp_path / "cut.csv.gz").write_bytes(whole[:cut])
    with pytest.raises(UsageError, match="the table cannot be read"):
        list(rows(tmp_path / "cut.csv.gz"))


def test_columns_without_names_are_numbered_in_an_order_that_sorts(tmp_path):
    (tmp_path / "plain.csv").write_text("5,5,7" + ",0" * 9 + "\n" + "1," * 11 + "2\n")
    first, second = rows(tmp_path / "plain.csv", form="csv/no-header")
    assert list(first.values) == sorted(first.values)
    assert (first.values["01"], first.values["03"], second.values["12"]) == ("5", "7", "2")
    with pytest.raises(UsageError, match="not a known form"):
        list(rows(tmp_path / "plain.csv", form="csv/other"))


def test_two_forms_that_keep_other_values_are_not_compared(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n')
    with pytest.raises(UsageError, match="a row of jsonl is never equal to one of csv"):
        diff_rows(tmp_path / "a.csv", tmp_path / "a.jsonl")
