"""`featlab.diagnose` on data whose truth is known: false alarms, numbers of directions, exponents, coverage, cost.

python -m benchmarks.diagnose --output evidence.json    # everything but the cost; minutes on 16 cores
python -m benchmarks.diagnose --only noise --draws 40   # one part; so can the others be made smaller
python -m benchmarks.diagnose --only cost               # n = 10^5, d = 10^3: seconds and memory

noise: how often noise shows a direction. targets: those of the catalogue of rank <= 3, on random orthonormal
directions of inputs of four laws. real: data sets that ship with scikit-learn, and labels planted on their inputs.
Exponents are right if they are those of the catalogue; a direction more or less is wrong. Coverage: of the 95% quantile
of the angles by resampling, over the true angle of each direction to the span of the true ones; of the simultaneous
intervals of the orders, for links of one direction, over c_k m^k, m being the cosine of the held-out directions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import featlab
from featlab.diagnosis.inputs import describe_columns, prepare
from featlab.diagnosis.orders import Orders, describe_orders, held_out_fields
from featlab.diagnosis.responses import all_responses, hermite_products
from featlab.diagnosis.search import Search, bootstrap_angles, search

LAWS = ("isotropic", "spiked", "heavy-tailed", "discrete")
REAL = ("diabetes", "breast_cancer", "wine", "digits")
PLANTED = ("tanh(h1)", "h1**2", "h1 + h1*h2")
_NOISE = 0.1  # of the variance of the label
_SPIKE = 4.0

Job = Callable[[int], dict[str, Any]]


def drawn_inputs(law: str, rows: int, dim: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, d), and the same with population covariance I, of which the fields of a target are taken."""
    white = draw.standard_normal((rows, dim))
    if law == "heavy-tailed":
        white = draw.standard_t(3, (rows, dim)) / np.sqrt(3)
    if law == "discrete":
        white = np.sign(white)
    if law == "spiked":
        along = np.full(dim, dim**-0.5)
        return white + (np.sqrt(1 + _SPIKE) - 1) * np.outer(white @ along, along), white
    return white, white


def looked_at(
    inputs: np.ndarray, labels: np.ndarray, draw: np.random.Generator
) -> tuple[Search, np.ndarray, np.ndarray, int]:
    """The search of a diagnosis, on its coordinates, with the responses and the number of functions of the label."""
    columns = describe_columns(inputs, tuple(f"x{place}" for place in range(inputs.shape[1])))
    coordinates = prepare(inputs.copy(), columns)[0].values
    responses, functions = all_responses(labels)
    return search(coordinates, responses, functions, draw), coordinates, responses, functions


def noise_draw(law: str, labels: str, rows: int, dim: int, seed: int) -> dict[str, Any]:
    """Whether noise shows a direction."""
    draw = np.random.default_rng([seed, 11])
    inputs, outcome = drawn_inputs(law, rows, dim, draw)[0], draw.standard_normal(rows)
    outcome = outcome if labels == "continuous" else (outcome > 0).astype(float)
    return {"alarm": bool(looked_at(inputs, outcome, draw)[0].steps)}


def target_draw(name: str, law: str, rows: int, dim: int, seed: int) -> dict[str, Any]:
    """What is found of a target of the catalogue."""
    draw = np.random.default_rng([seed, 13])
    entry = featlab.catalogue[name]
    link = featlab.target(entry.text)
    inputs, white = drawn_inputs(law, rows, dim, draw)
    frame = np.linalg.qr(draw.standard_normal((dim, link.rank)))[0]
    fields = white @ frame
    labels = noisy(link.link(np.hstack([fields, draw.standard_normal((rows, link.hidden))])), draw)
    found, coordinates, responses, functions = looked_at(inputs, labels, draw)
    answer: dict[str, Any] = {"count": len(found.rows), "information": None, "generative": None}
    if not len(found.rows):
        return answer
    along, _ = held_out_fields(found, coordinates, responses, functions)
    orders = describe_orders(along, labels, responses[:, :functions])
    high = np.quantile(bootstrap_angles(found, coordinates, responses, draw, 20), 0.95, axis=0)
    true = np.degrees(np.arccos(explained(coordinates @ found.rows.T, fields) ** 0.5))
    answer |= {
        "information": orders.information.value,
        "generative": orders.generative.value,
        "angles": (true <= high).tolist(),
    }
    if link.rank == len(found.rows) == 1 and not link.hidden:
        answer["orders"] = holds(link, orders, float(np.corrcoef(along[:, 0], fields[:, 0])[0, 1]), labels.std())
    return answer


def real_draw(name: str, text: str, seed: int) -> dict[str, Any]:
    """How many directions of a data set are found for a label planted on random columns of it, and how well."""
    from sklearn import datasets

    draw = np.random.default_rng([seed, 17])
    inputs = getattr(datasets, f"load_{name}")().data.astype(float)
    inputs = inputs[:, inputs.std(axis=0) > 0][draw.permutation(len(inputs))]
    link = featlab.target(text)
    standard = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    chosen = draw.permutation(inputs.shape[1])[: 2 * link.rank].reshape(link.rank, 2)
    fields = np.stack([standard[:, pair].sum(axis=1) for pair in chosen], axis=1)
    labels = noisy(link.link(fields / fields.std(axis=0)), draw)
    found, coordinates, _, _ = looked_at(inputs, labels, draw)
    seen = explained(fields, coordinates @ found.rows.T) if len(found.rows) else np.zeros(link.rank)
    return {"count": len(found.rows), "explained": seen.tolist()}


def shipped(name: str, seed: int) -> dict[str, Any]:
    """What a whole diagnosis says of a data set."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    found = featlab.diagnose(data.data, data.target, seed=seed)
    verdict = found.findings.analysis and found.findings.analysis.verdict.value
    return {"count": found.findings.directions.count, "verdict": verdict, "advice": found.advice}


def noisy(clean: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Labels with additive noise of a tenth of their variance."""
    return clean + np.sqrt(_NOISE * clean.var()) * draw.standard_normal(len(clean))


def explained(fields: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The share of the variance of each of the fields (n, k) that linear regression on others (n, l) explains."""
    fields, by = (part - part.mean(axis=0) for part in (fields, by))
    left = fields - by @ np.linalg.lstsq(by, fields, rcond=None)[0]
    return np.clip(1 - left.var(axis=0) / fields.var(axis=0), 0, 1)


def holds(link: featlab.Target, orders: Orders, cosine: float, scale: float) -> bool:
    """Whether all intervals of the label's orders hold the truth along held-out directions of that cosine with it."""
    points = np.linspace(-8, 8, 100_001)[:, None]
    weights = np.exp(-(points[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi) * (points[1, 0] - points[0, 0])
    values = link.link(points) * weights
    truth = {degrees[0]: float(np.sum(values * product)) for degrees, product in hermite_products(points, 5).items()}
    return all(
        abs(one.value - truth[one.order] * cosine**one.order / scale) <= one.half_width for one in orders.of_label
    )


def jobs(part: str, draws: int | None, names: list[str]) -> list[tuple[dict[str, Any], Job, int]]:
    """What is run: how it is called, by which function of the seed, and how often."""
    if part == "noise":
        kinds = [(law, kind) for law in LAWS for kind in ("continuous", "binary")]
        return [
            ({"law": law, "labels": kind}, partial(noise_draw, law, kind, 150, 10), draws or 1000)
            for law, kind in kinds
        ]
    if part == "targets":
        ranks = {name: entry.rank for name, entry in featlab.catalogue.items() if entry.rank and entry.rank <= 3}
        sizes = [("isotropic", 10), ("isotropic", 160), *((law, 40) for law in LAWS)]
        return [
            (
                {"target": name, "rank": rank, "law": law, "ratio": ratio},
                partial(target_draw, name, law, 15 * ratio, 15),
                draws or 8,
            )
            for law, ratio in sizes
            for name, rank in ranks.items()
            if not names or name in names
        ]
    planted = [
        ({"data": name, "planted": text}, partial(real_draw, name, text), draws or 20)
        for name in REAL
        for text in PLANTED
    ]
    return [*(({"data": name}, partial(shipped, name), 1) for name in REAL), *planted]


def measured(cases: list[tuple[dict[str, Any], Job, int]], processes: int) -> list[dict[str, Any]]:
    """All draws of all cases, each draw a task of its own."""
    tasks = [(job, seed) for _, job, draws in cases for seed in range(draws)]
    if processes == 1:
        found: Iterable[dict[str, Any]] = iter([job(seed) for job, seed in tasks])
    else:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = "1"  # read by the processes that are started next
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            found = iter(list(pool.map(_run, tasks, chunksize=4)))
    return [case | {"draws": [next(found) for _ in range(draws)]} for case, _, draws in cases]


def _run(task: tuple[Job, int]) -> dict[str, Any]:
    return task[0](task[1])


def summary(part: str, rows: list[dict[str, Any]]) -> list[str]:
    """Counts over draws, and for targets over those of one rank, law and n/d."""
    if part == "noise":
        alarms = [(row, sum(one["alarm"] for one in row["draws"]), len(row["draws"])) for row in rows]
        return [
            f"{row['law']:14}{row['labels']:12}{seen}/{count} = {seen / count:.3f} "
            f"(.05 +- {np.sqrt(0.05 * 0.95 / count):.3f})"
            for row, seen, count in alarms
        ]
    if part == "real":
        return [_real_line(row) for row in rows]
    head = f"{'law':14}{'n/d':>5}{'rank':>5}{'right':>10}{'more':>8}{'information':>13}{'generative':>12}"
    groups = dict.fromkeys((row["law"], row["ratio"], row["rank"]) for row in rows)
    return [head + f"{'angles':>8}{'orders':>8}", *(_group_line(rows, *group) for group in groups)]


def _group_line(rows: list[dict[str, Any]], law: str, ratio: int, rank: int) -> str:
    own = [row for row in rows if (row["law"], row["ratio"], row["rank"]) == (law, ratio, rank)]
    pairs = [(featlab.catalogue[row["target"]], one) for row in own for one in row["draws"]]
    total = len(pairs)
    right = sum(one["count"] == rank for _, one in pairs)
    more = sum(one["count"] > rank for _, one in pairs)
    information = sum(one["information"] == entry.information_exponent for entry, one in pairs)
    generative = sum(one["generative"] == entry.generative_exponent for entry, one in pairs)
    angles = [inside for _, one in pairs for inside in one.get("angles", [])]
    orders = [one["orders"] for _, one in pairs if "orders" in one]
    shares = [f"{np.mean(part):.2f}" if part else "-" for part in (angles, orders)]
    counts = f"{f'{right}/{total}':>10}{more:8}{information:13}{generative:12}"
    return f"{law:14}{ratio:5}{rank:5}{counts}{shares[0]:>8}{shares[1]:>8}"


def _real_line(row: dict[str, Any]) -> str:
    if "planted" not in row:
        return f"{row['data']:14}{row['draws'][0]}"
    counts = [one["count"] for one in row["draws"]]
    seen = " ".join(f"{number}:{counts.count(number)}" for number in sorted(set(counts)))
    share = np.median([min(one["explained"]) for one in row["draws"]])
    return f"{row['data']:14}{row['planted']:14} directions {seen:18} least explained field, median {share:.2f}"


def cost(rows: int, dim: int) -> dict[str, float]:
    """Seconds by the clock and of the processor, and the peak of memory, of a whole diagnosis."""
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((rows, dim))
    labels = inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.3 * draw.standard_normal(rows)
    clock, processor = perf_counter(), process_time()
    found = featlab.diagnose(inputs, labels)
    clock, processor = perf_counter() - clock, process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = {rows:,}, d = {dim:,}: {clock:.0f} s by the clock, {processor:.0f} s of the processor, {peak:.1f} GB")
    print(f"{found.findings.directions.count} directions; {found.advice}")
    return {"rows": rows, "dim": dim, "seconds": clock, "processor_seconds": processor, "gigabytes": peak}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("noise", "targets", "real", "cost"), help="these parts alone")
    parser.add_argument("--draws", type=int, help="of each case")
    parser.add_argument("--names", nargs="+", default=[], help="names of the catalogue")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="where every draw is saved, as JSON")
    given = parser.parse_args(arguments)
    record: dict[str, Any] = {}
    for part in given.only or ("noise", "real", "targets"):
        if part == "cost":
            record[part] = cost(10**5, 10**3)
            continue
        begin = perf_counter()
        record[part] = measured(jobs(part, given.draws, given.names), given.processes)
        print(f"{part}, {perf_counter() - begin:.0f} s", *summary(part, record[part]), sep="\n", flush=True)
        if given.output:
            given.output.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
