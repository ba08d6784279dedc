"""A comparator written to be obviously right: slow, recursive, whole files in memory.

It shares no code with the package. Each rule is one small method, so that a broken comparator is a
subclass with one rule wrong. It covers files whose step is called ``step`` and that have no odd
line longer or deeper than Python's own parser takes.
"""

from __future__ import annotations

import json
import math
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import zip_longest

ABSENT = object()


class UnreadableError(Exception):
    """A line that is not one record."""


class Reference:
    """Call it with two files' bytes; the answer is a dictionary of what every comparator must agree on."""

    def __call__(self, expected, actual, *, rtol=0.0, atol=0.0, metrics=None, ignore=()):
        self.rtol, self.atol = rtol, atol
        left, right = self.read(expected), self.read(actual)
        wanted = self.selection(metrics, ignore)
        pairs = [(one, other) for one, other in self.pairs(left, right) if ABSENT not in (one, other)]
        found, texts, evidence, tallies, same = [], [], [], {}, True
        for position, (one, other) in enumerate(pairs):
            if one is None or other is None:
                continue
            for name in self.names(one, other):
                if name != "step" and not wanted(name):
                    continue
                e, a = self.value(one, name), self.value(other, name)
                if name == "step" and e is ABSENT and a is ABSENT:
                    continue
                evidence += [] if name == "step" else self.evidence(e) + self.evidence(a)
                tally = tallies.setdefault(
                    name, {"mismatches": 0, "first_step": None, "errors": [], "both": False}
                )
                tally["both"] |= e is not ABSENT and a is not ABSENT
                tally["errors"] += self.errors(e, a)
                same &= self.same(e, a)
                accepted = self.same(e, a) if name == "step" else self.accepts(e, a)
                if not accepted:
                    step = one.get("step", other.get("step"))
                    tally["first_step"] = step if not tally["mismatches"] else tally["first_step"]
                    tally["mismatches"] += 1
                    (texts if self.is_text(self.first_leaf(e, a)) else found).append((position, name))
        records = sum(one is not None and other is not None for one, other in pairs)
        bad = None in left or None in right or not left or not right
        bad |= records > 0 and not evidence and not (found or texts) and len(left) == len(right)
        bad |= any(name not in tallies and wanted(name) for name in metrics or ())
        if len(left) != len(right) and not self.stops_early():
            found.append((min(len(left), len(right)), None))
        found = self.in_order(found, texts)
        exit_code = 2 if bad or not records else 1 if found else 0
        return {
            "exit_code": exit_code,
            "identical": exit_code == 0 and same,
            "records": records,
            "divergence": self.choose(found),
            "mismatches": {name: one["mismatches"] for name, one in tallies.items() if one["mismatches"]},
            "first_steps": {name: one["first_step"] for name, one in tallies.items() if one["mismatches"]},
            "max_abs": {
                name: max(one["errors"], default=None) for name, one in tallies.items() if name != "step"
            },
            "metrics": sum(one["both"] for name, one in tallies.items() if name != "step"),
        }

    # Reading

    def read(self, data):
        """One record a line, None for a line that is none."""
        lines = data.split(b"\n")
        if any(line.strip() for line in lines):
            while not lines[-1].strip():
                lines.pop()
        elif lines[-1] == b"":
            lines.pop()
        return [self.record(line) for line in lines]

    def record(self, line):
        try:
            value = self.parse(self.text(line))
        except (UnreadableError, ValueError, RecursionError):
            return None
        return self.flat(value) if isinstance(value, dict) else None

    def flat(self, record):
        """Metrics in objects under ``object/metric``, unless two would have one name."""
        pairs = list(self.inside(record))
        return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else record

    def inside(self, record, prefix=""):
        for name, value in record.items():
            if isinstance(value, dict) and value:
                yield from self.inside(value, f"{prefix}{name}/")
            else:
                yield f"{prefix}{name}", value

    def text(self, line):
        if b"\0" in line or line.startswith(b"\xef\xbb\xbf"):
            raise UnreadableError
        return line.decode("utf-8")

    def parse(self, text):
        return json.loads(text, object_pairs_hook=self.object, parse_float=self.float, parse_int=self.integer)

    def object(self, pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise UnreadableError
        return dict(pairs)

    def integer(self, text):
        value = 0
        for start in range(0, len(digits := text.lstrip("-")), 600):  # Python refuses 4,301 digits at once
            part = digits[start : start + 600]
            value = value * 10 ** len(part) + int(part)
        return -value if text.startswith("-") else value

    def float(self, text):
        value = float(text)
        if math.isinf(value):
            raise UnreadableError
        return value

    # What is compared with what

    def pairs(self, left, right):
        return list(zip(left, right, strict=False))

    def stops_early(self):
        return False

    def names(self, one, other):
        step = ["step"] if "step" in one or "step" in other else []
        rest = [name for name in [*one, *(name for name in other if name not in one)] if name != "step"]
        return step + rest

    def value(self, record, name):
        return record.get(name, ABSENT)

    def selection(self, metrics, ignore):
        return lambda name: (
            (metrics is None or name in metrics) and not any(fnmatchcase(name, pattern) for pattern in ignore)
        )

    def evidence(self, value):
        if value is ABSENT or value is None:
            return []
        if isinstance(value, list | dict):
            inner = value.values() if isinstance(value, dict) else value
            return [one for item in inner for one in self.evidence(item)]
        return [value]

    def in_order(self, found, texts):
        """A difference of texts alone never hides one of numbers."""
        return found + texts

    def choose(self, found):
        return found[0] if found else None

    def first_leaf(self, e, a):
        """The first pair of scalars inside two values that is not accepted, or None."""
        if isinstance(e, dict) and isinstance(a, dict):
            inner = [
                (e.get(name, ABSENT), a.get(name, ABSENT)) for name in [*e, *(n for n in a if n not in e)]
            ]
        elif isinstance(e, list) and isinstance(a, list):
            inner = list(zip_longest(e, a, fillvalue=ABSENT))
        else:
            return None if self.accepts(e, a) else (e, a)
        return next((leaf for pair in inner if (leaf := self.first_leaf(*pair)) is not None), None)

    def is_text(self, leaf):
        return leaf is not None and all(isinstance(one, str) for one in leaf)

    # Equality

    def same(self, e, a):
        if isinstance(e, dict) and isinstance(a, dict):
            return e.keys() == a.keys() and all(self.same(e[name], a[name]) for name in e)
        if isinstance(e, list) and isinstance(a, list):
            return len(e) == len(a) and all(map(self.same, e, a))
        if self.is_number(e) and self.is_number(a):
            return self.same_number(e, a)
        return type(e) is type(a) and e == a

    def accepts(self, e, a):
        if isinstance(e, dict) and isinstance(a, dict):
            return e.keys() == a.keys() and all(self.accepts(e[name], a[name]) for name in e)
        if isinstance(e, list) and isinstance(a, list):
            return len(e) == len(a) and all(map(self.accepts, e, a))
        if self.is_number(e) and self.is_number(a):
            return self.number_accepted(e, a)
        return self.same(e, a)

    def is_number(self, value):
        return isinstance(value, int | float) and not isinstance(value, bool)

    def same_number(self, e, a):
        if e != e or a != a:
            return e != e and a != a
        return e == a and (e != 0 or math.copysign(1, e) == math.copysign(1, a))

    def number_accepted(self, e, a):
        if self.same_number(e, a):
            return True
        if self.rtol == 0 and self.atol == 0:
            return False
        if e != e or a != a or math.inf in (e, a, -e, -a):
            return False
        return self.close(e, a)

    def close(self, e, a):
        if isinstance(e, float) and isinstance(a, float):
            error, bound = abs(a - e), self.atol + self.rtol * abs(e)
            if math.isfinite(error) and math.isfinite(bound):
                return error <= bound
        bound = Fraction(self.atol) + Fraction(self.rtol) * abs(Fraction(e))
        return abs(Fraction(a) - Fraction(e)) <= bound

    def errors(self, e, a):
        """Absolute errors of the numbers inside two values."""
        if isinstance(e, dict) and isinstance(a, dict):
            return [one for name in e if name in a for one in self.errors(e[name], a[name])]
        if isinstance(e, list) and isinstance(a, list):
            return [one for pair in zip(e, a, strict=False) for one in self.errors(*pair)]
        if not (self.is_number(e) and self.is_number(a)) or e != e or a != a:
            return []
        if e == a:
            return [0.0]
        try:
            return [float(abs(a - e))]
        except OverflowError:
            return [math.inf]
