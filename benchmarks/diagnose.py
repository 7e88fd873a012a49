"""`featlab.diagnose` on data whose truth is known: false alarms, numbers of directions, exponents, coverage, cost.

python -m benchmarks.diagnose noise          # 1000 draws of noise, four laws of the inputs
python -m benchmarks.diagnose targets        # targets of the catalogue of rank <= 3 at several n/d
python -m benchmarks.diagnose cost           # n = 10^5, d = 10^3: seconds and memory
python -m benchmarks.diagnose noise --draws 40    # in seconds; so can the others be made smaller

Exponents are right if they are those of the catalogue; a direction more or less is wrong. Coverage: of the 95% quantile
of the angles by resampling, over the true angle of each direction to the span of the true ones; of the simultaneous
intervals of the orders, for links of one direction, over c_k m^k, m being the cosine of the held-out directions.
"""

from __future__ import annotations

import argparse
import resource
from time import perf_counter, process_time

import numpy as np

import featlab
from featlab.diagnosis.orders import describe_orders, held_out_fields
from featlab.diagnosis.responses import all_responses, hermite_products
from featlab.diagnosis.search import bootstrap_angles, search

_LAWS = ("isotropic", "spiked", "heavy-tailed", "discrete")
_NOISE = 0.1  # of the variance of the label


def drawn_inputs(law: str, rows: int, dim: int, draw: np.random.Generator) -> np.ndarray:
    """Inputs of mean zero and standardised columns."""
    inputs = draw.standard_t(3, (rows, dim)) if law == "heavy-tailed" else draw.standard_normal((rows, dim))
    if law == "spiked":
        inputs += 1.5 * draw.standard_normal((rows, 1)) / np.sqrt(dim) * np.sqrt(dim / 4)
    if law == "discrete":
        inputs = np.sign(inputs)
    return (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)


def noise(draws: int, rows: int, dim: int) -> None:
    """How often pure noise shows a direction."""
    for law in _LAWS:
        alarms = 0
        for seed in range(draws // len(_LAWS)):
            draw = np.random.default_rng([seed, 11])
            inputs, labels = drawn_inputs(law, rows, dim, draw), draw.standard_normal(rows)
            alarms += bool(search(inputs.astype(np.float32), *all_responses(labels), draw).steps)
        count = draws // len(_LAWS)
        said = f"{alarms}/{count} = {alarms / count:.3f} (.05 +- {np.sqrt(0.05 * 0.95 / count):.3f})"
        print(f"{law:14} n = {rows}, d = {dim}: {said}", flush=True)


def targets(draws: int, dim: int, ratios: list[float], only: list[str]) -> None:
    """Number of directions, exponents and coverage for every target of the catalogue of rank <= 3."""
    names = f"{'information':>12}{'generative':>12}{'angles':>8}{'orders':>8}"
    print(f"{'target':28}{'n/d':>5}{'rank':>5}{'  found':18}{names}")
    for entry in featlab.catalogue.values():
        if entry.rank is None or entry.rank > 3 or (only and entry.name not in only):
            continue
        link = featlab.target(entry.text)
        for ratio in ratios:
            print(
                f"{entry.name:28}{ratio:5g}{entry.rank:5}{_row(entry, link, int(ratio * dim), dim, draws)}", flush=True
            )


def _row(entry: featlab.CatalogueEntry, link: featlab.Target, rows: int, dim: int, draws: int) -> str:
    counts, exponents, angles, covered = [], [], [], []
    for seed in range(draws):
        draw = np.random.default_rng([seed, 13])
        inputs = draw.standard_normal((rows, dim))
        clean = link.link(np.hstack([inputs[:, : link.rank], draw.standard_normal((rows, link.hidden))]))
        labels = clean + np.sqrt(_NOISE * clean.var()) * draw.standard_normal(rows)
        single, (responses, functions) = inputs.astype(np.float32), all_responses(labels)
        found = search(single, responses, functions, draw)
        counts.append(len(found.rows))
        if not len(found.rows):
            exponents.append((None, None))
            continue
        fields, directions = held_out_fields(found, single, responses, functions)
        orders = describe_orders(fields, labels, responses[:, :functions])
        exponents.append((orders.information.value, orders.generative.value))
        high = np.quantile(bootstrap_angles(found, single, responses, draw, 20), 0.95, axis=0)
        cosines = np.minimum(1, np.linalg.norm(found.rows[:, : link.rank], axis=1))
        angles.extend(np.degrees(np.arccos(cosines)) <= high)
        if link.rank == len(found.rows) == 1 and not link.hidden:
            covered.append(_holds(link, orders, directions[:, 0, 0], labels.std()))
    seen = " ".join(f"{number}:{counts.count(number)}" for number in sorted(set(counts)))
    right = [
        f"{sum(pair[place] == truth for pair in exponents)}/{draws}"
        for place, truth in enumerate((entry.information_exponent, entry.generative_exponent))
    ]
    shares = [f"{np.mean(part):.2f}" if part else "-" for part in (angles, covered)]
    return f"  {seen:16}{right[0]:>12}{right[1]:>12}{shares[0]:>8}{shares[1]:>8}"


def _holds(link: featlab.Target, orders: object, cosines: np.ndarray, scale: float) -> bool:
    """Whether all intervals of the label's orders hold the truth along the held-out directions."""
    points = np.linspace(-8, 8, 100_001)[:, None]
    weights = np.exp(-(points[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi) * (points[1, 0] - points[0, 0])
    values = link.link(points) * weights
    truth = {degrees[0]: float(np.sum(values * product)) for degrees, product in hermite_products(points, 5).items()}
    return all(
        abs(one.value - truth[one.order] * float(np.mean(cosines**one.order)) / scale) <= one.half_width
        for one in orders.of_label  # type: ignore[attr-defined]
    )


def cost(rows: int, dim: int) -> None:
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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=("noise", "targets", "cost"))
    parser.add_argument("--draws", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--dim", type=int)
    parser.add_argument("--ratios", type=float, nargs="+", default=[5, 20, 80])
    parser.add_argument("--only", nargs="+", default=[], help="names of the catalogue")
    given = parser.parse_args(arguments)
    if given.case == "noise":
        noise(given.draws or 1000, given.rows or 150, given.dim or 10)
    elif given.case == "targets":
        targets(given.draws or 10, given.dim or 20, given.ratios, given.only)
    else:
        cost(given.rows or 10**5, given.dim or 10**3)


if __name__ == "__main__":
    main()
