"""Every file of a plugin folder is loaded and verified; a broken one is named with what is expected of it."""

import importlib
from collections.abc import Sequence
from typing import Protocol

import pytest

from reprokit import adapters, checks
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.plugin_files import PluginFolder, load


class Format(Protocol):
    """The protocol of the folders that these tests write."""

    NAME: str
    ORDER: int
    PATTERNS: Sequence[str]
    WHOLE: bool

    def read(self, path: str, *, limit: int) -> str:
        """Called as ``read(path, limit=1)``."""


WHOLE = (
    "NAME = 'mine'\nORDER = 10\nPATTERNS = ('*.txt',)\nWHOLE = False\n"
    "def read(path, *, limit):\n    return path\n"
)


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Write files into a package of their own, and load them."""
    monkeypatch.syspath_prepend(tmp_path)
    package = f"plugins_of_{tmp_path.name}".replace("-", "_")
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")

    def load_files(**files):
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(text)
        importlib.invalidate_caches()
        plugins = PluginFolder(
            package=package,
            kind="adapter",
            protocol=Format,
            guide="docs/guide.md",
            prefix="from_",
            file_name=None,
            unique=("ORDER", "NAME"),
        )
        return load(plugins, [str(folder)])

    load_files.package = package
    return load_files


def test_files_are_loaded_by_their_order_and_other_files_are_left_alone(loaded):
    second = WHOLE.replace("mine", "other").replace("10", "5")
    found = loaded(from_a=WHOLE, from_b=second, helper="raise ValueError\n")
    assert [(name, module.NAME) for name, module in found] == [("from_b", "other"), ("from_a", "mine")]


@pytest.mark.parametrize(
    ("text", "why", "expected"),
    [
        (WHOLE.replace("NAME = 'mine'\n", ""), "it has no NAME", "NAME of type str, not empty"),
        (WHOLE.replace("'mine'", "''"), "its NAME is wrong", "NAME of type str, not empty"),
        (WHOLE.replace("10", "'10'"), "its ORDER is wrong", "ORDER of type int"),
        (WHOLE.replace("10", "True"), "its ORDER is wrong", "ORDER of type int"),
        (WHOLE.replace("= False", "= 0"), "its WHOLE is wrong", "WHOLE of type bool"),
        (
            WHOLE.replace("('*.txt',)", "()"),
            "its PATTERNS is wrong",
            "PATTERNS of type Sequence[str], not empty",
        ),
        (WHOLE.replace("('*.txt',)", "'*.txt'"), "its PATTERNS is wrong", "PATTERNS of type Sequence[str]"),
        (WHOLE.replace("('*.txt',)", "(1,)"), "its PATTERNS is wrong", "PATTERNS of type Sequence[str]"),
        (WHOLE.replace("def read", "def load"), "it has no function read", "read(path, limit)"),
        (WHOLE.replace("def read", "read = 1\ndef load"), "it has no function read", "read(path, limit)"),
        (WHOLE.replace("path, *, limit", "path"), "read takes other arguments than", "read(path, limit)"),
        (
            WHOLE.replace("path, *,", "path, more, *,"),
            "missing a required argument: 'more'",
            "read(path, limit)",
        ),
        (WHOLE.replace("path, *, limit", "*, limit"), "too many positional arguments", "read(path, limit)"),
        ("1 / 0\n", "it cannot be imported: ZeroDivisionError: division by zero", "can be imported"),
        ("def\n", "it cannot be imported: SyntaxError", "can be imported"),
        ("import no_such_module\n", "it cannot be imported: ModuleNotFoundError", "can be imported"),
        ("raise SystemExit(0)\n", "it cannot be imported: SystemExit", "can be imported"),
    ],
)
def test_a_broken_file_is_named_with_what_is_expected(loaded, text, why, expected):
    with pytest.raises(CannotJudgeError) as caught:
        loaded(from_x=text, from_y=WHOLE.replace("mine", "y").replace("10", "20"))
    assert caught.value.where == f"{loaded.package}/from_x.py"
    assert why in caught.value.what
    assert expected in caught.value.expected
    assert caught.value.fix == "correct the file as docs/guide.md says, or remove it"
    assert caught.value.exit_code == 4


def test_a_function_may_take_more_than_it_is_given_where_that_has_a_default(loaded):
    text = WHOLE.replace("path, *, limit", "source, encoding='utf-8', *, limit=1, **more")
    assert [name for name, _ in loaded(from_x=text)] == ["from_x"]


@pytest.mark.parametrize(("attribute", "other"), [("NAME", "20"), ("ORDER", "10")])
def test_two_files_cannot_have_the_same_name_or_place(loaded, attribute, other):
    second = WHOLE.replace("10", other).replace("mine", "mine" if attribute == "NAME" else "other")
    with pytest.raises(CannotJudgeError, match=rf"from_b\.py: .*its {attribute} \S+ is that of from_a\.py"):
        loaded(from_a=WHOLE, from_b=second)


@pytest.mark.parametrize("discover", [checks.discover, adapters.adapters])
def test_every_plugin_of_this_package_keeps_the_protocol_of_its_folder(discover):
    assert discover()


def test_a_format_that_nothing_reads_is_an_error_with_the_formats_there_are():
    with pytest.raises(MetricsError, match=r"expected jsonl or .* got 'parquet'"):
        adapters.adapter_named("parquet")
