"""Reading a trainer's Config without running it."""

from __future__ import annotations

import textwrap

import pytest
from pydantic import ValidationError

from reprokit.errors import RecipeError
from reprokit.recipes.trainer_config import read_sections

HEAD = "from dataclasses import dataclass, field\n"
FROZEN = "@dataclass(frozen=True)\n"
CONFIG = f"{FROZEN}class Config:\n    s: S\n"


def section(fields: str, *, extra: str = ""):
    body = textwrap.indent(textwrap.dedent(fields).strip(), "    ")
    source = f"{HEAD}{extra}\n{FROZEN}class S:\n{body}\n{CONFIG}"
    return read_sections(source.encode(), where="t.py")["s"]


def accepted(annotation: str, value: object) -> object:
    model = section(f"x: {annotation}")
    return model.model_validate({"x": value}).model_dump(mode="json", by_alias=True)["x"]


def refuses(annotation: str, value: object) -> bool:
    model = section(f"x: {annotation}")
    try:
        model.model_validate({"x": value})
    except ValidationError:
        return True
    return False


def refusal(source: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read_sections(source.encode(), where="t.py")
    return str(caught.value)


def refusal_of_field(line: str) -> str:
    return refusal(f"{HEAD}{FROZEN}class S:\n    {line}\n{CONFIG}")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 8),
        ("float", 0.5),
        ("str", "x"),
        ("bool", True),
        ("int | None", None),
        ("list[int]", [1, 2]),
        ("list[list[float]]", [[1.0]]),
        ("tuple[int, ...]", [64, 64]),
        ("tuple[int, str]", [1, "a"]),
        ("Literal['tanh', 'relu']", "relu"),
        ("typing.Literal[1, 2]", 2),
        ("Literal[None, 1]", None),
        ("Annotated[float, Gt(0)]", 1e-9),
        ("Annotated[float, Ge(0), Le(1)] | None", 1.0),
        ("Annotated[float, annotated_types.Lt(-1.5)]", -2.0),
        ("Annotated[tuple[int, ...], MinLen(1)]", [1]),
        ("Annotated[int, MultipleOf(8)]", 16),
        ("int | str", "x"),
    ],
)
def test_a_value_that_fits_its_annotation_is_taken_as_it_is(annotation, value):
    assert accepted(annotation, value) == value


def test_an_integer_is_taken_for_a_float_and_becomes_one():
    assert repr(accepted("float", 1)) == "1.0"


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", True),
        ("int", 1.0),
        ("int", "8"),
        ("float", True),
        ("float", "3e-4"),
        ("float", float("nan")),
        ("float", float("inf")),
        ("str", 1),
        ("bool", 1),
        ("bool", "true"),
        ("int", None),
        ("list[int]", [1, True]),
        ("list[int]", "12"),
        ("tuple[int, ...]", [1, "2"]),
        ("tuple[int, ...]", "12"),
        ("tuple[int, int]", [1]),
        ("tuple[int, int]", [1, 2, 3]),
        ("Literal[1, 2]", True),
        ("Literal[True]", 1),
        ("Literal[1]", 1.0),
        ("Literal['a']", "b"),
        ("Annotated[float, Gt(0)]", 0),
        ("Annotated[float, Ge(0), Le(1)] | None", 1.5),
        ("tuple[Annotated[int, Gt(0)], ...]", [1, 0]),
        ("Annotated[tuple[int, ...], MinLen(1)]", []),
    ],
)
def test_a_value_that_does_not_fit_is_refused(annotation, value):
    assert refuses(annotation, value)


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("x: float = 3e-4", 3e-4),
        ("x: float = 1", 1.0),
        ("x: int = -1", -1),
        ("x: int = 100_000", 100000),
        ("x: tuple[int, ...] = (64, 64)", [64, 64]),
        ("x: list[int] = field(default_factory=lambda: [1, 2])", [1, 2]),
        ("x: list[int] = field(default_factory=list)", []),
        ("x: int | None = None", None),
        ("x: bool = field(default=True)", True),
        ("x: str = 'a' 'b'", "ab"),
    ],
)
def test_defaults_are_filled_in(field, default):
    filled = section(field).model_validate({}).model_dump(mode="json", by_alias=True)["x"]
    assert filled == default
    assert type(filled) is type(default)


def test_docstrings_methods_and_comments_are_no_settings():
    model = section('''
        """What it does."""
        x: int = 1
        """Doc of x."""
        def double(self): return 2 * self.x
        @property
        def twice(self): return 2 * self.x
    ''')
    assert model.model_validate({}).model_dump(by_alias=True) == {"x": 1}


@pytest.mark.parametrize("name", ["copy", "json", "model_dump", "schema", "self", "validate", "_private"])
def test_a_setting_may_have_any_name(name):
    model = section(f"{name}: int = 1")
    assert model.model_validate({name: 2}).model_dump(by_alias=True) == {name: 2}


def test_a_type_alias_of_the_module_is_understood():
    model = section("x: Rate = 1e-3", extra="Rate = Annotated[float, Gt(0)]")
    with pytest.raises(ValidationError):
        model.model_validate({"x": -1.0})


def test_sections_nest():
    extra = "@dataclass(frozen=True)\nclass Inner:\n    y: int = 2\n"
    model = section("inner: Inner = Inner()\nx: int = 1", extra=extra)
    assert model.model_validate({}).model_dump(by_alias=True) == {"inner": {"y": 2}, "x": 1}
    with pytest.raises(ValidationError):
        model.model_validate({"inner": {"z": 1}})


def test_nothing_of_the_trainer_runs(tmp_path):
    proof = tmp_path / "ran"
    source = f"open({str(proof)!r}, 'w')\n{HEAD}@dataclass(frozen=True)\nclass Config:\n    pass\n"
    assert read_sections(source.encode(), where="t.py") == {}
    assert not proof.exists()


@pytest.mark.parametrize(
    "line",
    [
        "x: dict[str, int]",
        "x: object",
        "x: torch.Tensor",
        "x: 'int'",
        "x: Optional[int]",
        "x: tuple[..., int]",
        "x: list[int, str]",
        "x: Literal[1.5]",
        "x: Annotated[int, range(3)]",
        "x: Annotated[int, Gt('a')]",
        "x: Annotated[int, Gt(gt=0)]",
        "x: (lambda: int)()",
        "x: " + " | ".join(["int"] * 200),
        "x: int = num_cores()",
        "x: float = 1 / 3",
        "x: float = float('inf')",
        "x: float = 1e999",
        "x: int = 'eight'",
        "x: int = True",
        "x: float = None",
        "x: list[int] = [1]",
        "x: int = field(default_factory=make)",
        "x: int = field(default=1, repr=False)",
        "x: list[int] = field(default_factory=lambda n: [n])",
        "x: int = " + "+".join(["1"] * 2000),
        "x = 1",
        "for x in range(3): pass",
    ],
)
def test_what_cannot_be_read_without_running_it_names_the_line(line):
    assert refusal_of_field(line).startswith("t.py:4: ")


def test_a_default_that_breaks_its_own_annotation_is_told():
    told = refusal_of_field("x: Annotated[int, Gt(0)] = 0")
    assert (
        told
        == "t.py:4: the default of x does not match its annotation: input should be greater than 0, got 0"
    )


def test_several_mistakes_of_a_trainer_are_told_together():
    told = refusal(f"{HEAD}@dataclass\nclass S:\n    x: object\n    y: int = f()\n{CONFIG}")
    assert [line.split(": ")[0].strip() for line in told.splitlines()] == [
        "t.py",
        "t.py:3",
        "t.py:4",
        "t.py:5",
    ]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(:\n", "t.py:1: not Python"),
        ("x = 1\n", "t.py:1: the trainer has no class Config"),
        ("x = '\x00'\n", "t.py:1: not Python"),
        ("class Config:\n    pass\n", "t.py:1: Config is not a frozen dataclass"),
        ("@dataclass(frozen=False)\nclass Config:\n    pass\n", "t.py:2: Config is not a frozen dataclass"),
        (f"{FROZEN}class Config(Base):\n    pass\n", "t.py:2: Config has a base class"),
        (f"{FROZEN}class Config:\n    seed: int = 1\n", "t.py:3: Config.seed is not a section"),
        (f"{FROZEN}class Config:\n    s: Missing\n", "t.py:3: Config.s is not a section"),
        (f"{FROZEN}class S:\n    s: S\n{CONFIG}", "t.py:3: the section S contains itself"),
        (
            f"{FROZEN}class S:\n    x: int = 1\n{CONFIG}".replace("s: S", "s: S = S(x=2)"),
            "t.py:6: the default of",
        ),
        (f"A = list[A]\n{FROZEN}class S:\n    x: A\n{CONFIG}", "t.py:1: the annotation is nested too deep"),
        ("(" * 10_000, "t.py:1: not Python"),
        ("x = " + "-" * 100_000 + "1", "t.py:1: not Python"),
    ],
)
def test_a_trainer_without_a_readable_config_is_refused(source, told):
    assert refusal(source).startswith(told)


def test_one_mistake_in_two_trainers_is_told_of_each():
    for where in ("one.py", "other.py"):
        with pytest.raises(RecipeError, match=f"^{where}:1: "):
            read_sections(b"x = 1\n", where=where)
