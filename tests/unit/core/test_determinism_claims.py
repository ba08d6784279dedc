"""Claims read from the documentation, and what repeats may say about them."""

import pytest

from reprokit.core import determinism_claims as claims
from reprokit.core.determinism_claims import BACKWARD, FORWARD, statements

DOCUMENTATION = """Sets whether operations must be deterministic.

    The following normally-nondeterministic operations will act
    deterministically when ``mode=True``:

        * :class:`torch.nn.Conv2d` when called on CUDA tensor
        * :func:`torch.gather` when called on a CUDA tensor that requires grad
        * :func:`torch.Tensor.put_` with ``accumulate=True`` when called on a CPU
          tensor

    The following normally-nondeterministic operations will throw a
    :class:`RuntimeError` when ``mode=True``:

        * :class:`torch.nn.MaxUnpool1d`
        * :func:`torch.nn.functional.interpolate` when attempting to differentiate a CUDA tensor
          and one of the following modes is used:

          - ``linear``
          - ``bilinear``

        * :func:`torch.Tensor.put_` when ``accumulate=False``

    In addition, several operations fill uninitialized memory:

        * :func:`torch.empty`
"""


def claim(name, phase=FORWARD, device="cuda", words=()):
    return claims.claim_of(statements(DOCUMENTATION), name=name, phase=phase, device=device, words=words)


def found(strict, lenient=None, *, default="same"):
    return {
        "default": {"outcome": default},
        "deterministic": {"outcome": strict},
        "warn_only": lenient or {"outcome": "same"},
    }


def test_both_lists_are_read_whole_and_nothing_after_them():
    names = [(entry.kind, entry.name) for entry in statements(DOCUMENTATION)]
    assert names == [
        ("deterministic", "torch.nn.Conv2d"),
        ("deterministic", "torch.gather"),
        ("deterministic", "torch.Tensor.put_"),
        ("raises", "torch.nn.MaxUnpool1d"),
        ("raises", "torch.nn.functional.interpolate"),
        ("raises", "torch.Tensor.put_"),
    ]


@pytest.mark.parametrize(
    ("name", "phase", "device", "words", "expected"),
    [
        ("torch.nn.Conv2d", FORWARD, "cuda", (), "deterministic"),
        ("torch.nn.Conv2d", BACKWARD, "cuda", (), "deterministic"),
        ("torch.nn.Conv2d", FORWARD, "cpu", (), "unlisted"),
        ("torch.gather", FORWARD, "cuda", (), "unlisted"),
        ("torch.gather", BACKWARD, "cuda", (), "deterministic"),
        ("torch.Tensor.put_", FORWARD, "cpu", ("accumulate=True",), "deterministic"),
        ("torch.Tensor.put_", FORWARD, "cuda", ("accumulate=True",), "unlisted"),
        ("torch.Tensor.put_", FORWARD, "cpu", ("accumulate=False",), "raises"),
        ("torch.nn.MaxUnpool1d", FORWARD, "cpu", (), "raises"),
        ("torch.nn.functional.interpolate", BACKWARD, "cuda", ("- bilinear",), "raises"),
        ("torch.nn.functional.interpolate", BACKWARD, "cuda", ("- area",), "unlisted"),
        ("torch.empty", FORWARD, "cpu", (), "unlisted"),
        ("", FORWARD, "cpu", (), "unlisted"),
    ],
)
def test_a_claim_is_of_a_phase_a_device_and_a_variant_of_the_operation(name, phase, device, words, expected):
    assert claim(name, phase, device, words) == expected


def test_without_documentation_nothing_is_known():
    assert statements(None) == ()
    assert claims.claim_of((), name="torch.gather", phase=FORWARD, device="cpu") == "unknown"


@pytest.mark.parametrize(
    ("what", "findings", "verdict", "why"),
    [
        ("deterministic", found("same"), "not refuted", ""),
        ("deterministic", found("differs"), "false", "the result differs and nothing is raised"),
        ("deterministic", found("raises"), "false", "it raises"),
        ("raises", found("raises"), "holds", ""),
        ("raises", found("same"), "false", "nothing is raised; no difference found"),
        ("raises", found("differs"), "false", "the result differs and nothing is raised"),
        ("unlisted", found("same", default="differs"), "not refuted", ""),
        ("unlisted", found("differs"), "false", "the result differs and nothing is raised"),
        ("unlisted", found("raises"), "holds", "raises, without being listed"),
        ("raises", found("raises", {"outcome": "differs", "warned": True}), "holds", ""),
        (
            "raises",
            found("raises", {"outcome": "differs"}),
            "false",
            "with warn_only the result differs and nothing warns",
        ),
        ("unknown", found("same"), "not refuted", ""),
        ("raises", {"default": {"outcome": "unavailable", "message": "no"}}, "not run", ""),
    ],
)
def test_a_claim_is_held_to_what_was_found(what, findings, verdict, why):
    assert claims.judge(what, findings) == claims.ClaimJudgement(verdict=verdict, why=why)
    rows = [{"claim": what, **findings}]
    assert claims.is_any_false(rows) is (verdict == "false")


def test_no_number_of_repeats_makes_a_claim_true():
    assert claims.judge("deterministic", found("same")).verdict == "not refuted"
    assert claims.chance_bound(10**6) > 0


def test_thirty_repeats_bound_the_chance_at_9_8_percent():
    assert round(claims.chance_bound(30), 4) == 0.0981
    assert claims.chance_bound(1) == claims.chance_bound(0) == 1.0


def row(name, digest, outcome="same", **more):
    finding = {"outcome": outcome, "digest": digest}
    return {
        "operation": name,
        "dtype": "float32",
        "phase": FORWARD,
        "compiled": False,
        "claim": claims.UNLISTED,
        "default": finding,
        **more,
    }


def test_bits_are_compared_only_where_both_platforms_repeated():
    here = [row("mm", "a"), row("sum", "b"), row("scatter", "c", "differs"), row("only here", "d")]
    there = [row("mm", "a"), row("sum", "x"), row("scatter", "c"), row("only there", "d")]
    assert claims.same_bits(here, there) == {
        "equal": ["mm float32 forward default"],
        "differ": ["sum float32 forward default"],
        "unstable": ["scatter float32 forward default"],
    }


def measurement(*rows, **about):
    return {
        "platform": "cpu-x86_64",
        "torch": "2.13.0",
        "build": "b",
        "repeats": 30,
        "rows": [*rows],
        "batches": {},
        **about,
    }


def test_a_difference_that_was_seen_once_stays_and_is_marked():
    before = row("put_", "a", "differs")
    before["default"] |= {"differing": 21, "warned": True}
    today = row("put_", "b") | {"deterministic": {"outcome": "raises"}}
    today["default"]["ms"] = 1.5
    merged = claims.keep_differences(measurement(today, row("mm", "c")), measurement(before))
    assert merged["rows"][0]["default"] == {
        "outcome": "differs",
        "differing": 21,
        "compared": 29,
        "warned": True,
        "earlier": True,
        "digest": "b",
        "ms": 1.5,
    }
    assert merged["rows"][0]["deterministic"] == {"outcome": "raises"}
    assert merged["rows"][1] == row("mm", "c")
    assert claims.keep_differences(merged, measurement(before)) == merged


def test_a_difference_stays_when_it_was_not_found_in_fewer_repeats():
    before = row("put_", "a", "differs")
    before["default"]["differing"] = 2
    today = measurement(
        row("put_", "b") | {"default": {"outcome": "same", "digest": "b", "ms": 1.0}}, repeats=3
    )
    (kept,) = claims.keep_differences(today, measurement(before))["rows"]
    assert (kept["default"]["outcome"], kept["default"]["compared"]) == ("differs", 29)


def test_what_is_not_measured_again_stays_in_its_place():
    before = measurement(row("a", "1"), row("b", "2"), row("c", "3"))
    merged = claims.keep_differences(measurement(row("new", "5"), row("b", "4")), before)
    assert merged["rows"] == [row("a", "1"), row("b", "4"), row("c", "3"), row("new", "5")]


def test_of_another_number_of_repeats_a_claim_stays_false_that_no_repeat_could_mend():
    silent = row("silent", "1", claim="raises") | {"deterministic": {"outcome": "same", "digest": "1"}}
    merged = claims.keep_differences(measurement(row("b", "4"), repeats=2), measurement(silent))
    assert merged["rows"][0] == silent
    assert claims.is_any_false(merged["rows"])


def test_of_another_number_of_repeats_only_differences_stay():
    liar = row("liar", "2", claim=claims.UNLISTED) | {"deterministic": {"outcome": "differs", "differing": 3}}
    before = measurement(row("a", "1"), liar | {"warn_only": {"outcome": "raises"}}, row("b", "4"))
    merged = claims.keep_differences(measurement(row("b", "4"), repeats=5), before)
    kept, measured = merged["rows"]
    assert measured == row("b", "4")
    assert kept["default"] == {"outcome": "unavailable", "message": "not measured again"}
    assert kept["deterministic"] == {"outcome": "differs", "differing": 3, "compared": 29, "earlier": True}
    assert kept["warn_only"] == {"outcome": "raises"}
    assert claims.is_any_false([kept])
    assert claims.keep_differences(measurement(row("b", "4"), repeats=7), merged)["rows"] == merged["rows"]


def test_a_difference_with_warn_only_that_nothing_warned_of_is_false_whatever_else_was_measured():
    found = {"warn_only": {"outcome": "differs"}, "deterministic": {"outcome": "unavailable"}}
    assert claims.judge(claims.UNLISTED, found).verdict == claims.FALSE


def test_a_difference_stays_when_the_operation_could_not_be_run_today():
    liar = row("liar", "2") | {"deterministic": {"outcome": "differs", "differing": 3}}
    absent = row("liar", "2", claim=claims.UNLISTED) | {"default": {"outcome": "unavailable"}}
    before = measurement(liar | {"claim": claims.UNLISTED})
    (kept,) = claims.keep_differences(measurement(absent), before)["rows"]
    assert kept["deterministic"] == {"outcome": "differs", "differing": 3, "compared": 29, "earlier": True}
    assert claims.is_any_false([kept])
    same = measurement(row("liar", "2"))
    assert claims.keep_differences(measurement(absent), same)["rows"] == [absent]


def test_batches_of_a_mode_that_was_not_measured_again_stay():
    one = {"operation": "mm", "dtype": "float32", "sizes": []}
    before = measurement(batches={"default": [one], "deterministic": [one]})
    assert claims.keep_differences(measurement(), before)["batches"] == before["batches"]


def test_batches_that_are_not_measured_again_stay():
    one, other = ({"operation": name, "dtype": "float32", "sizes": []} for name in ("mm", "linear"))
    again = one | {"sizes": [1]}
    before = measurement(batches={"default": [one, other]})
    today = measurement(batches={"default": [again], "deterministic": []})
    assert claims.keep_differences(today, before)["batches"] == {
        "default": [again, other],
        "deterministic": [],
    }


def test_a_claim_is_measured_where_the_operation_ran():
    absent = {"claim": claims.RAISES, "default": {"outcome": "unavailable"}}
    assert not claims.is_any_measured([absent])
    assert claims.is_any_measured([absent, {"claim": claims.RAISES, "deterministic": {"outcome": "raises"}}])


@pytest.mark.parametrize("name", ["torch", "build", "device", "driver", "threads"])
def test_nothing_stays_from_another_environment(name):
    before = measurement(row("put_", "a", "differs"), **{name: "another"})
    today = measurement(row("put_", "b"))
    assert claims.keep_differences(today, before) == today
