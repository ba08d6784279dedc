"""The tree of errors: the drawing in the module agrees with its classes."""

import inspect
import re

import pytest

from reprokit import errors

_DRAWN = re.compile(r"^    ([│ ├└─]*)(\w+Error) +(exit code|\d)", re.MULTILINE)


def drawn() -> dict[str, tuple[str, str]]:
    """Class → its parent and exit code, as the drawing has them."""
    found, above = {}, {}
    for branch, name, code in _DRAWN.findall(errors.__doc__ or ""):
        depth = len(branch) // 4
        above[depth] = name
        found[name] = (above.get(depth - 1, "Exception"), code)
    return found


def test_the_drawn_tree_is_the_tree_of_classes():
    classes = [
        one for _, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__
    ]
    actual = {one.__name__: (one.__base__.__name__, str(one.exit_code)) for one in classes}
    expected = {**drawn(), "ReprokitError": ("Exception", str(errors.ReprokitError.exit_code))}
    assert "ReprokitError" in drawn()
    assert expected == actual


@pytest.mark.parametrize(
    ("fix", "sentence"),
    [
        (None, "recipe.yaml:12: unknown key"),
        ("take it out", "recipe.yaml:12: unknown key. Hint: take it out"),
    ],
)
def test_the_next_step_is_labelled_as_a_hint(fix, sentence):
    assert str(errors.RecipeError("unknown key", where="recipe.yaml:12", fix=fix)) == sentence
