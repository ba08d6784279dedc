"""Error rates of ``compare --rounding`` on trees: harmless and real changes of LightGBM and XGBoost.

    python benchmarks/rounding_fits.py --seeds 11 12 13 --out rounding_fits.jsonl
    python benchmarks/rounding_fits.py --table rounding_fits.jsonl

Needs both libraries. Twins are made by the code that the hook loads, and judged by the same rule.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from reprokit.features.compare.rounding.rule import FACTOR, Finding, judged
from reprokit.instrumentation.reprokit_hook.rounding_fits import Fits

_TWINS, _TREES, _RATE = 8, 60, 1.001
_RATES = {f"rate_{off:g}": {"rate": 1 + off} for off in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)}
What = Mapping[str, Any]
Metrics = dict[str, list[float]]

HARMLESS: Mapping[str, Mapping[str, What]] = {
    "lightgbm": {
        "threads_2": {"num_threads": 2},
        "threads_4": {"num_threads": 4},
        "by_rows": {"force_row_wise": True},
        "by_columns": {"force_col_wise": True},
        "weights_of_one": {"ones": True},
        "other_order": {"order": 3},
        "other_order_again": {"order": 4},
        "other_order_and_threads": {"order": 5, "num_threads": 2},
    },
    "xgboost": {
        "threads_2": {"nthread": 2},
        "threads_4": {"nthread": 4},
        "weights_of_one": {"ones": True},
        "other_order": {"order": 3},
        "other_order_again": {"order": 4},
        "other_order_and_threads": {"order": 5, "nthread": 2},
    },
}
REAL: Mapping[str, Mapping[str, What]] = {
    "lightgbm": {
        **_RATES,
        "leaves_16": {"num_leaves": 16},
        "l2_1e-3": {"lambda_l2": 1e-3},
        "l2_1e-5": {"lambda_l2": 1e-5},
        "in_leaf_21": {"min_data_in_leaf": 21},
        "bins_254": {"max_bin": 254},
        "features_0.9": {"feature_fraction": 0.9},
        "sample_lost": {"lost": 1},
    },
    "xgboost": {
        **_RATES,
        "depth_5": {"max_depth": 5},
        "l2_1.001": {"reg_lambda": 1.001},
        "l2_1.00001": {"reg_lambda": 1.00001},
        "child_1.5": {"min_child_weight": 1.5},
        "bins_255": {"max_bin": 255},
        "rows_0.99": {"subsample": 0.99},
        "sample_lost": {"lost": 1},
    },
}


def _data(seed: int, *, binary: bool) -> tuple[Any, Any]:
    """(600, 12) float32 and (600,)."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(600, 12)).astype(np.float32)
    score = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.3 * draw.normal(size=600)
    return x, (score > 0).astype(float) if binary else score


def run(library: str, what: What, seed: int, *, binary: bool, fits: Fits | None = None) -> Metrics:
    """One training: metric → its values, tree by tree."""
    what = dict(what)
    x, y = _data(seed, binary=binary)
    lost = what.pop("lost", 0)
    x, y = x[lost:], y[lost:]
    order = what.pop("order", None)
    if order is not None:
        at = np.random.default_rng(order).permutation(len(y))
        x, y = x[at], y[at]
    weight = np.ones(len(y), np.float32) if what.pop("ones", False) else None
    train = _lightgbm if library == "lightgbm" else _xgboost
    return train((x, y, weight), _data(seed + 50, binary=binary), what, binary=binary, fits=fits)


def _lightgbm(data: Any, other: Any, what: dict[str, Any], *, binary: bool, fits: Fits | None) -> Metrics:
    import lightgbm  # noqa: PLC0415  (one of the two may do)

    named = (
        {"objective": "binary", "metric": "binary_logloss"}
        if binary
        else {"objective": "regression", "metric": "l2"}
    )
    fixed = {"num_leaves": 15, "verbose": -1, "deterministic": True, "num_threads": 1, "seed": 7}
    params = {**named, **fixed, "learning_rate": 0.1 * what.pop("rate", 1.0), **what}
    seen: dict[str, Any] = {}
    train = lightgbm.Dataset(data[0], data[1], weight=data[2])
    valid = lightgbm.Dataset(*other, reference=train)
    engine = SimpleNamespace(__name__="lightgbm.engine", train=lightgbm.train)
    if fits:
        fits.listen(engine)
    engine.train(
        params,
        train,
        num_boost_round=_TREES,
        valid_sets=[train, valid],
        valid_names=["train", "valid"],
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    return _flat(seen)


def _xgboost(data: Any, other: Any, what: dict[str, Any], *, binary: bool, fits: Fits | None) -> Metrics:
    import xgboost  # noqa: PLC0415  (one of the two may do)

    objective = "binary:logistic" if binary else "reg:squarederror"
    fixed = {"max_depth": 4, "nthread": 1, "seed": 7, "tree_method": "hist"}
    params = {"objective": objective, **fixed, "eta": 0.1 * what.pop("rate", 1.0), **what}
    seen: dict[str, Any] = {}
    train, valid = xgboost.DMatrix(data[0], data[1], weight=data[2]), xgboost.DMatrix(*other)
    engine = SimpleNamespace(__name__="xgboost.training", train=xgboost.train)
    if fits:
        fits.listen(engine)
    evals = [(train, "train"), (valid, "valid")]
    engine.train(params, train, _TREES, evals=evals, evals_result=seen, verbose_eval=False)
    return _flat(seen)


def _flat(seen: Mapping[str, Mapping[str, Any]]) -> Metrics:
    return {
        f"{side}/{name}": list(map(float, one)) for side, all_ in seen.items() for name, one in all_.items()
    }


def _fits(number: int, *, control: bool = False) -> tuple[Fits, dict[str, Any]]:
    facts: dict[str, Any] = {"fits": 0, "rounded": 0, "epsilon": 0.0}
    return Fits(facts, control=control, seed=number, start=0, rate=_RATE), facts


def measure(library: str, seed: int, *, binary: bool) -> Iterator[dict[str, Any]]:
    """The answer on each change of one program and seed."""
    a = run(library, {}, seed, binary=binary)
    twins, epsilon = [], 0.0
    for number in range(1, _TWINS + 1):
        fits, facts = _fits(number)
        twins.append(run(library, {}, seed, binary=binary, fits=fits))
        epsilon = max(epsilon, facts["epsilon"])
    control = run(library, {}, seed, binary=binary, fits=_fits(0, control=True)[0])
    seen = judged(a, control, twins, epsilon=epsilon)
    steady = max(one.steady for one in seen.metrics.values())
    for kind, changes in (("harmless", HARMLESS[library]), ("real", REAL[library])):
        for change, what in changes.items():
            found = judged(a, run(library, what, seed, binary=binary), twins, epsilon=epsilon)
            answer = str(found.finding)
            if found.finding is Finding.ROUNDING and seen.finding is not Finding.DIFFERENT:
                answer = "unjudged"
            yield {
                "program": f"{library}_{'binary' if binary else 'regression'}",
                "seed": seed,
                "kind": kind,
                "change": change,
                "answer": answer,
                "ratio": min(found.ratio, 1e300),
                "until": found.until,
                "resolution": 2 * (_RATE - 1) * FACTOR / steady if steady else None,
            }


def table(path: Path) -> Iterator[str]:
    """Programs × answers, and every wrong one."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    lines = [json.loads(line) for line in text.splitlines()]
    words = (
        "harmless: equal | rounding | unjudged | different | real: different | unjudged | rounding | equal"
    )
    yield f"| program (seeds) | {words} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in [*dict.fromkeys(line["program"] for line in lines), "all"]:
        of = [line for line in lines if name in (line["program"], "all")]
        counts = collections.Counter((line["kind"], line["answer"]) for line in of)
        cells = [counts["harmless", word] for word in ("equal", "rounding", "unjudged", "different")]
        cells += [counts["real", word] for word in ("different", "unjudged", "rounding", "equal")]
        yield f"| {name} ({len({line['seed'] for line in of})}) | " + " | ".join(map(str, cells)) + " |"
    yield ""
    for line in lines:
        if (line["kind"], line["answer"]) in {("harmless", "different"), ("real", "rounding")}:
            yield f"- {line['program']} {line['seed']}: {line['change']}, R {line['ratio']:.3g}"


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--libraries", nargs="+", default=list(REAL), choices=list(REAL))
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12, 13])
    parser.add_argument("--out", type=Path, default=Path("rounding_fits.jsonl"))
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    if given.table:
        sys.stdout.writelines(line + "\n" for line in table(given.table))
        return
    for library in given.libraries:
        for seed in given.seeds:
            for binary in (False, True):
                for line in measure(library, seed, binary=binary):
                    with given.out.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
