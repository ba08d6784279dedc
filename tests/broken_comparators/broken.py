"""Comparators with one rule broken each, made from the reference."""

from __future__ import annotations

import json
import math
import struct
import unicodedata

from support.reference_comparison import ABSENT, Reference, UnreadableError

# Numbers


class RoundsToFiveDecimals(Reference):
    def same_number(self, e, a):
        if isinstance(e, float) and isinstance(a, float) and math.isfinite(e) and math.isfinite(a):
            return round(e, 5) == round(a, 5)
        return super().same_number(e, a)


class ComparesInFloat32(Reference):
    def same_number(self, e, a):
        try:
            return super().same_number(*(struct.unpack("f", struct.pack("f", x))[0] for x in (e, a)))
        except (OverflowError, struct.error):
            return super().same_number(e, a)


class ComparesIntegersAsFloats(Reference):
    def same_number(self, e, a):
        try:
            return super().same_number(float(e), float(a))
        except OverflowError:
            return super().same_number(e, a)


class ReadsIntegersAs64Bits(Reference):
    def integer(self, text):
        value = super().integer(text)
        return value if abs(value) < 2**63 else float(text)


class IgnoresTheSignOfZero(Reference):
    def same_number(self, e, a):
        return e == a or (e != e and a != a)


class TellsIntegersFromFloats(Reference):
    def same_number(self, e, a):
        return type(e) is type(a) and super().same_number(e, a)


class IgnoresNaN(Reference):
    def same_number(self, e, a):
        return e != e or a != a or super().same_number(e, a)


class NeverAcceptsNaN(Reference):
    def same_number(self, e, a):
        return e == e and a == a and super().same_number(e, a)


class ConfusesInfinities(Reference):
    def same_number(self, e, a):
        return (
            super().same_number(abs(e), abs(a)) if math.inf in (abs(e), abs(a)) else super().same_number(e, a)
        )


class ReadsOverflowAsInfinity(Reference):
    def float(self, text):
        return float(text)


class ClampsInfinity(Reference):
    def same_number(self, e, a):
        largest = 1.7976931348623157e308
        return super().same_number(
            *(max(-largest, min(largest, x)) if isinstance(x, float) else x for x in (e, a))
        )


# Tolerances


class SwapsSidesInTheTolerance(Reference):
    def close(self, e, a):
        return super().close(a, e)


class TakesTheLargerTerm(Reference):
    def close(self, e, a):
        return abs(a - e) <= max(self.atol, self.rtol * abs(e))


class IsStrictOnTheBound(Reference):
    def close(self, e, a):
        return abs(a - e) < self.atol + self.rtol * abs(e)


class GrantsInfinitiesWithRtol(Reference):
    def number_accepted(self, e, a):
        return self.same_number(e, a) or abs(a - e) <= self.atol + self.rtol * abs(e)


class OverflowsInTheTolerance(Reference):
    def close(self, e, a):
        return abs(a - e) <= self.atol + self.rtol * abs(e)


class HasAHiddenTolerance(Reference):
    def number_accepted(self, e, a):
        return super().number_accepted(e, a) or (e == e and a == a and abs(a - e) <= 1e-9)


class GrantsTheStepATolerance(Reference):
    def same(self, e, a):
        return self.number_accepted(e, a) if self.is_number(e) and self.is_number(a) else super().same(e, a)

    def same_number(self, e, a):
        return Reference.same_number(self, e, a)


class NeverAppliesTheTolerance(Reference):
    def close(self, e, a):
        return False


class ToleratesOtherTypes(Reference):
    def accepts(self, e, a):
        return super().accepts(e, a) or (self.atol > 0 and not self.is_number(e) and type(e) is type(a))


# Types and structures


class TakesTrueForOne(Reference):
    def is_number(self, value):
        return isinstance(value, int | float)


class TakesNullForNaN(Reference):
    def same(self, e, a):
        e, a = (math.nan if x is None else x for x in (e, a))
        return super().same(e, a)


class TakesNullForMissing(Reference):
    def value(self, record, name):
        value = super().value(record, name)
        return ABSENT if value is None else value


class TakesTextForNumbers(Reference):
    def same(self, e, a):
        return super().same(e, a) or (ABSENT not in (e, a) and str(e) == str(a))


class IgnoresWhatIsNested(Reference):
    def same(self, e, a):
        return (type(e) is type(a) and isinstance(e, list | dict)) or super().same(e, a)

    accepts = same


class IgnoresTheOrderOfElements(Reference):
    def same(self, e, a):
        if isinstance(e, list) and isinstance(a, list):
            return sorted(map(repr, e)) == sorted(map(repr, a)) or super().same(e, a)
        return super().same(e, a)

    accepts = same


class StopsAtTheShorterArray(Reference):
    def same(self, e, a):
        if isinstance(e, list) and isinstance(a, list):
            return all(map(self.same, e, a))
        return super().same(e, a)

    accepts = same


class ComparesTheText(Reference):
    def same(self, e, a):
        return json.dumps(e, default=str) == json.dumps(a, default=str)

    accepts = same


# Names


class IgnoresMissingMetrics(Reference):
    def accepts(self, e, a):
        return a is ABSENT or super().accepts(e, a)


class IgnoresNewMetrics(Reference):
    def names(self, one, other):
        return super().names(one, one)


class NormalisesNames(Reference):
    def object(self, pairs):
        return super().object([(unicodedata.normalize("NFC", name), value) for name, value in pairs])


class IgnoresCapitals(Reference):
    def object(self, pairs):
        return super().object([(name.lower(), value) for name, value in pairs])


class TrimsNames(Reference):
    def object(self, pairs):
        return super().object([(name.strip(), value) for name, value in pairs])


class KeepsTheLastOfRepeatedKeys(Reference):
    def object(self, pairs):
        return dict(pairs)


class IgnoresBySubstring(Reference):
    def selection(self, metrics, ignore):
        wants = super().selection(metrics, ignore)
        return lambda name: wants(name) and not any(pattern in name for pattern in ignore)


class IgnoresTheStep(Reference):
    def names(self, one, other):
        return [name for name in super().names(one, other) if name != "step"]


# Records


class StopsAtTheShorterFile(Reference):
    def stops_early(self):
        return True


class ComparesByStepAndDropsDoubles(Reference):
    def pairs(self, left, right):
        sides = [{one.get("step"): one for one in side if one} for side in (left, right)]
        return [(sides[0][step], sides[1][step]) for step in sides[0] if step in sides[1]]


class SortsBySteps(Reference):
    def read(self, data):
        records = super().read(data)
        if all(record is not None and self.is_number(record.get("step")) for record in records):
            records.sort(key=lambda record: record["step"])
        return records


class ComparesOnlyTheLastRecord(Reference):
    def pairs(self, left, right):
        return super().pairs(left[-1:], right[-1:])


class ComparesOnlyTheFirstRecords(Reference):
    def pairs(self, left, right):
        return super().pairs(left, right)[:10]


class NamesTheLastDivergence(Reference):
    def choose(self, found):
        return found[-1] if found else None


class NamesTheMetricFirstInTheAlphabet(Reference):
    def choose(self, found):
        return min(found, key=lambda place: str(place[1])) if found else None


class CountsOneMismatchAMetric(Reference):
    def __call__(self, expected, actual, **options):
        answer = super().__call__(expected, actual, **options)
        return {**answer, "mismatches": dict.fromkeys(answer["mismatches"], 1)}


# Lines


class SkipsLinesThatItCannotRead(Reference):
    def read(self, data):
        return [record for record in super().read(data) if record is not None]


class DropsATornLastLine(Reference):
    def read(self, data):
        records = super().read(data)
        return records[:-1] if records and records[-1] is None else records


class SkipsBlankLines(Reference):
    def read(self, data):
        return super().read(b"\n".join(line for line in data.split(b"\n") if line.strip()))


class SkipsTheByteOrderMark(Reference):
    def text(self, line):
        return super().text(line.removeprefix(b"\xef\xbb\xbf"))


class ReplacesInvalidBytes(Reference):
    def text(self, line):
        if b"\0" in line:
            raise UnreadableError
        return line.decode("utf-8", errors="replace")


class DropsNULs(Reference):
    def text(self, line):
        return super().text(line.replace(b"\0", b""))


class ReadsOnlyTheFirstObjectOfALine(Reference):
    def parse(self, text):
        return json.JSONDecoder(object_pairs_hook=self.object, parse_float=self.float).raw_decode(
            text.strip()
        )[0]


class TakesEqualBytesForEqual(Reference):
    def __call__(self, expected, actual, **options):
        answer = super().__call__(expected, actual, **options)
        return {**answer, "exit_code": 0, "identical": True} if expected == actual else answer


class TakesEmptyFilesForEqual(Reference):
    def __call__(self, expected, actual, **options):
        answer = super().__call__(expected, actual, **options)
        return {**answer, "exit_code": 0} if not expected and not actual else answer


class DiffersWhereItCannotCompare(Reference):
    def __call__(self, expected, actual, **options):
        answer = super().__call__(expected, actual, **options)
        return {**answer, "exit_code": min(answer["exit_code"], 1)}


def _all(parent: type) -> list[type]:
    return [one for child in parent.__subclasses__() for one in (child, *_all(child))]


BROKEN = _all(Reference)
