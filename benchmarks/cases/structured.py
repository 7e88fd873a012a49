"""One gradient step under a spike: against NumPy on a stored X, against the same step without one; and its theory."""

from __future__ import annotations

import numpy as np

from benchmarks.measuring import Cubic, Row, Timing, time_best, time_run
from featlab.learners import GiantSteps, TwoLayer
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.designs.spiked import with_inputs
from featlab.simulation.problem import Problem
from featlab.targets.inputs import Inputs, Isotropic, Spiked

_STEP = GiantSteps(1, loss="correlation")


def rows(small: bool) -> list[Row]:
    """The step at the same sizes in NumPy and on the design that a simulation takes, with a spike and without."""
    dim, samples, width, repeats = (50, 100, 4, 1) if small else (2000, 4000, 100, 5)
    spike = Spiked(dim**0.5, 1.0)
    spiked, plain = (_timed(inputs, dim, samples, width, repeats) for inputs in (spike, Isotropic()))
    stored = _numpy_step(dim, samples, width, spike.strength, repeats)
    setting = f"d={dim}, n={samples}, p={width}, one seed"
    return [
        Row("one step under a spike", setting, stored.seconds / spiked.seconds, "times NumPy", spiked, at_least=1.0),
        Row("one step under a spike", setting, spiked.seconds / plain.seconds, "times the isotropic step", spiked),
        _theory(10**12, repeats),
    ]


def _timed(inputs: Inputs, dim: int, samples: int, width: int, repeats: int) -> Timing:
    student = TwoLayer(width, biases="gaussian")
    wanted = demand(_STEP, student, Cubic(), Sizes(dim, Cubic.rank, samples, np.dtype(np.float32)))
    design = with_inputs(choose(wanted, True).design, inputs)
    return time_run(Problem(Cubic(), student, _STEP, design), 1, 1, repeats)  # type: ignore[arg-type]


def _numpy_step(dim: int, samples: int, width: int, strength: float, repeats: int) -> Timing:
    """The same with a stored X in float32: drawing it, two products, one step."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((width, dim), dtype=np.float32) / np.float32(dim**0.5)
    biases = rng.standard_normal(width, dtype=np.float32)

    def step() -> np.ndarray:
        x = rng.standard_normal((samples, dim), dtype=np.float32)
        labels = x[:, 0] ** 3 - 3 * x[:, 0]
        x[:, 0] *= np.float32((1 + strength) ** 0.5)
        slope = (x @ weights.T + biases > 0) * labels[:, None]
        return weights + slope.T.astype(np.float32) @ x / np.float32(samples)

    return time_best(step, repeats)


def _theory(dim: int, repeats: int) -> Row:
    """Signal and noise of a typical neuron, whatever d is."""
    from featlab.targets import SpikeLaw, target
    from featlab.theory.spiked.gradient import _slope_series
    from featlab.theory.spiked.signal import gradient_sizes

    law = target("He3(h1)", inputs=SpikeLaw(0.6))

    def sizes() -> None:
        _slope_series.cache_clear()
        gradient_sizes(law, dim=dim, samples=2 * dim)

    timing = time_best(sizes, repeats)
    return Row("signal and noise of a gradient", f"d={dim:.0e}, n=2d", 1e3 * timing.seconds, "ms", timing, at_most=1000)
