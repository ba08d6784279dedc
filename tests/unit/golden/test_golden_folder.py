"""Reading goldens back: only what was blessed is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reprokit.errors import GoldenError
from reprokit.golden import list_all, load, locate


def refusal(path: Path) -> str:
    with pytest.raises(GoldenError) as caught:
        load(path)
    assert caught.value.exit_code == 2
    return str(caught.value)


def edit(path: Path, **changes: Any) -> None:
    told = json.loads((path / "provenance.json").read_text())
    (path / "provenance.json").write_text(json.dumps({**told, **changes}))


def test_a_golden_has_its_place_by_recipe_platform_and_seed():
    assert locate(Path("g"), recipe="cartpole", platform="cpu-x86_64", seed=7) == Path(
        "g/cartpole/cpu-x86_64/seed-7"
    )


@pytest.mark.parametrize(
    "names",
    [
        *({"recipe": recipe} for recipe in ("..", "a/b", "", "a\n", ".hidden", None)),
        *({"platform": platform} for platform in ("../x", "", ".", 7)),
        *({"seed": seed} for seed in (-1, None, True, "1", 1.0)),
    ],
)
def test_names_that_lead_elsewhere_are_refused(names):
    with pytest.raises(GoldenError):
        locate(Path("g"), **{"recipe": "a", "platform": "cpu-x86_64", "seed": 1, **names})


def test_a_golden_is_read_back_as_it_was_blessed(bless):
    golden = bless()
    assert load(golden.path) == golden
    assert golden.provenance.reason == "first golden"


def test_a_golden_is_read_by_a_relative_path_too(bless, monkeypatch):
    golden = bless()
    monkeypatch.chdir(golden.path)
    assert load(Path()).provenance == golden.provenance


def test_no_golden_is_told(tmp_path):
    assert "there is no golden" in refusal(tmp_path / "none")


@pytest.mark.parametrize("name", ["metrics.jsonl", "trace.jsonl"])
def test_one_flipped_bit_is_found(bless, name):
    golden = bless()
    content = bytearray((golden.path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (golden.path / name).write_bytes(content)
    assert f"{name}: the file differs from the one that was promoted" in refusal(golden.path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "trace.jsonl", "provenance.json"])
def test_a_missing_file_is_told(bless, name):
    golden = bless()
    (golden.path / name).unlink()
    assert f"{name}: the file is missing" in refusal(golden.path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "trace.jsonl", "provenance.json"])
def test_a_link_is_no_file_of_a_golden(bless, name, tmp_path):
    golden = bless()
    (golden.path / name).rename(tmp_path / "moved")
    (golden.path / name).symlink_to(tmp_path / "moved")
    assert "the file is missing" in refusal(golden.path)


def test_a_golden_that_was_copied_to_another_seed_is_refused(bless):
    golden = bless()
    other = golden.path.with_name("seed-43")
    golden.path.rename(other)
    told = refusal(other)
    assert "this golden belongs to another folder. got one of cartpole/cpu-x86_64/seed-42" in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schema": 2}, "with schema 2. expected schema 1"),
        ({"schema": None}, "schema None is not known"),
        ({"seed": "42"}, "'seed' is missing or of the wrong type"),
        ({"seed": True}, "'seed' is missing or of the wrong type"),
        ({"reason": None}, "'reason' is missing or of the wrong type"),
        ({"environment": []}, "'environment' is missing or of the wrong type"),
        ({"digests": {}}, "the digest of 'recipe' is missing or malformed"),
        ({"digests": {"recipe": "sha256:abc"}}, "the digest of 'recipe' is missing or malformed"),
    ],
)
def test_malformed_provenance_is_told(bless, changes, told):
    golden = bless()
    edit(golden.path, **changes)
    assert told in refusal(golden.path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"schema": 1', "not JSON"),
        ('{"schema": 1, "schema": 1}', "a key is repeated"),
        ('{"schema": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_provenance_that_is_no_json_object_is_told(bless, text, told):
    golden = bless()
    (golden.path / "provenance.json").write_text(text)
    assert told in refusal(golden.path)


def test_a_huge_provenance_is_refused_without_reading_it(bless):
    golden = bless()
    with (golden.path / "provenance.json").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "larger than" in refusal(golden.path)


def test_no_goldens_are_an_empty_list(tmp_path):
    assert list_all(tmp_path / "none") == []


def test_goldens_are_listed_by_recipe_platform_and_seed(bless, candidate, tmp_path):
    for recipe, platform, seed in [
        ("b", "cpu-x86_64", 9),
        ("a", "xla-cpu", 1),
        ("a", "cpu-x86_64", 10),
        ("a", "cpu-x86_64", 9),
    ]:
        words = {"recipe": recipe, "platform": platform, "seed": seed}
        bless(candidate(**words), candidate(**words))
    rows = list_all(tmp_path / "golden")
    assert [(row.recipe, row.platform, row.seed) for row in rows] == [
        ("a", "cpu-x86_64", 9),
        ("a", "cpu-x86_64", 10),
        ("a", "xla-cpu", 1),
        ("b", "cpu-x86_64", 9),
    ]
    assert {(row.reason, row.runs_agreed, row.problem) for row in rows} == {("first golden", 2, "")}


def test_a_broken_golden_is_listed_with_its_problem(bless, tmp_path):
    golden = bless()
    golden.metrics.write_text("{}\n")
    (golden.path.with_name("seed-x")).mkdir()
    broken, nameless = list_all(tmp_path / "golden")
    assert (broken.seed, "differs from the one that was promoted" in broken.problem) == (42, True)
    assert (nameless.seed, "the file is missing" in nameless.problem) == (None, True)
