"""The faults that mutation testing plants: each is another program, and what is no promise is left alone."""

import ast

from mutation import mutants

SOURCE = '''
"""A module."""
__all__ = ["total"]
LIMIT = 3

class Sum:
    @staticmethod
    def total(items: list[int], start: int = 0) -> int:
        """Add."""
        for item in items:
            if item is None or item < LIMIT:
                continue
            start += item * 2
        if not items:
            raise ValueError(f"no items in {start + 1}")
        return start if start else -1
'''


def planted(index):
    tree = ast.parse(SOURCE)
    mutants.mutants_of(tree)[index].plant()
    compile(tree, "source", "exec")
    return ast.unparse(tree)


def test_every_mutant_compiles_and_no_two_are_one_program():
    found = mutants.mutants_of(ast.parse(SOURCE))
    programs = {planted(index) for index in range(len(found))}
    assert len(programs) == len(found)
    assert ast.unparse(ast.parse(SOURCE)) not in programs


def test_each_kind_of_fault_is_planted_at_its_place():
    found = [(one.lines[0], one.function, one.what) for one in mutants.mutants_of(ast.parse(SOURCE))]
    inside = "Sum.total"
    assert found == [
        (4, "", "3 → 4"),
        (8, "", "0 → 1"),
        (11, inside, "item is None or item < LIMIT: Or → And"),
        (11, inside, "item is None or item < LIMIT: negated"),
        (11, inside, "item is None: Is → IsNot"),
        (11, inside, "item < LIMIT: Lt → LtE"),
        (12, inside, "continue: removed"),
        (13, inside, "start += item * 2: Add → Sub"),
        (13, inside, "start += item * 2: removed"),
        (13, inside, "item * 2: Mult → Div"),
        (13, inside, "2 → 3"),
        (14, inside, "not items: without Not"),
        (15, inside, "raise ValueError(f'no items in {start + 1}'): removed"),
        (15, inside, "start + 1: Add → Sub"),
        (15, inside, "1 → 2"),
        (16, inside, "return start if start else -1: return None"),
        (16, inside, "start: negated"),
        (16, inside, "-1: without USub"),
        (16, inside, "1 → 2"),
    ]
