"""The estimators against what one would take instead, on the same data: cosines, risk and time, and their ratios.

python -m benchmarks.estimators            # benchmarks/results/estimators-<machine>.json
python -m benchmarks.estimators --small    # in seconds, at sizes that mean nothing

Data: y = h1 h2 + h1 + noise of a tenth, on correlated inputs; times are processor seconds of a fit. Rivals are used as
their users would: labels standardised, ridges by cross-validation where there is no leave-one-out.

The package `sliced` (SIR and SAVE) asks for an environment of its own: its last release, 0.7.0, needs a NumPy before
1.24. `--sliced PYTHON` names its interpreter (`pip install sliced==0.7.0 six numpy==1.23.5 scipy==1.9.3
scikit-learn==1.1.3`): the same data go there, and directions and seconds come back.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.regression import dimred

from benchmarks.measuring import RESULTS, Row, Timing, machine, save, show
from featlab import estimators

_SLICES = 10
# Run by an interpreter that has `sliced`, and none of ours.
_SLICED = """
import json, sys, time, warnings
import numpy as np
from sliced import SlicedAverageVarianceEstimation, SlicedInverseRegression
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
for name, kind in {"SIR": SlicedInverseRegression, "SAVE": SlicedAverageVarianceEstimation}.items():
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        fitted = kind(n_directions=2, n_slices=int(sys.argv[2])).fit(data["X"], data["y"])
        seconds.append(time.process_time() - begin)
    print(json.dumps([name, fitted.directions_[:2].tolist(), min(seconds)]))
"""


class Data:
    """Samples to fit and to test on, and the two directions."""

    def __init__(self, rows: int, dim: int, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        mixing = np.eye(dim) + 0.5 * draw.standard_normal((dim, dim)) / dim**0.5
        self.directions = np.linalg.inv(mixing)[:, :2].T  # z = X inv(mixing), of which the first two count
        self.inputs, self.labels = self._draw(draw, rows, mixing)
        self.test_inputs, self.test_labels = self._draw(draw, 4000, mixing)

    @staticmethod
    def _draw(draw: np.random.Generator, rows: int, mixing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fields = draw.standard_normal((rows, len(mixing)))
        labels = fields[:, 0] * fields[:, 1] + fields[:, 0] + 0.1 * draw.standard_normal(rows)
        return fields @ mixing, labels

    def cosine(self, rows: np.ndarray) -> float:
        """The smaller cosine between the span of two rows and that of the directions."""
        bases = [np.linalg.qr(part.T)[0] for part in (rows, self.directions)]
        return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[-1])

    def risk(self, model: Any) -> float:
        """The mean squared error on test samples over the variance of labels."""
        missed = self.test_labels - model.predict(self.test_inputs)
        return float(np.mean(missed**2) / np.var(self.test_labels))


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What comes back, and the processor seconds it took: the best of three."""
    seconds = []
    for _ in range(3):
        begin = process_time()
        result = action()
        seconds.append(process_time() - begin)
    return result, min(seconds)


def direction_rows(data: Data) -> list[Row]:
    """SIR, SAVE and PHD against those of statsmodels: the same directions, sooner or later; and the others."""
    X, y, per_slice = data.inputs, data.labels, len(data.labels) // _SLICES
    setting = "d={1} n={0}".format(*X.shape)
    theirs = {
        "SIR": lambda: dimred.SlicedInverseReg(y, X.copy()).fit(slice_n=per_slice),
        "SAVE": lambda: dimred.SlicedAverageVarianceEstimation(y, X.copy()).fit(slice_n=per_slice),
        "PHD": lambda: dimred.PrincipalHessianDirections(y, X.copy()).fit(resid=True),
    }
    ours = {
        "SIR": estimators.SlicedInverseRegression(2, slices=_SLICES),
        "SAVE": estimators.SlicedAverageVariance(2, slices=_SLICES),
        "PHD": estimators.PrincipalHessianDirections(2),
        "spectral": estimators.SpectralDirections(2, random_state=0),
        "gradient, one step": estimators.GradientSpan(2, step="giant", random_state=0),
        "gradient, preprocessed": estimators.GradientSpan(2, random_state=0),
        "gradient, reused": estimators.GradientSpan(2, step="reused", random_state=0),
    }
    found = []
    for name, estimator in ours.items():
        fitted, seconds = timed(lambda estimator=estimator: estimator.fit(X, y))  # type: ignore[misc]
        found.append(Row(name, setting, data.cosine(fitted.directions_), "cosine", Timing(seconds)))
        if name in theirs:
            other, longer = timed(theirs[name])
            rows = np.real(other.params[:, :2].T)
            found.append(Row(f"{name}, statsmodels", setting, data.cosine(rows), "cosine", Timing(longer)))
            found.append(Row(f"{name}, statsmodels / ours", setting, longer / seconds, "times the seconds"))
    return found


def sliced_rows(data: Data, python: str, ours: list[Row]) -> list[Row]:
    """SIR and SAVE of `sliced` on the same data, in the environment of that interpreter."""
    setting = "d={1} n={0}".format(*data.inputs.shape)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "data.npz"
        np.savez(file, X=data.inputs, y=data.labels)
        command = [python, "-c", _SLICED, str(file), str(_SLICES)]
        alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    found, seconds = [], {row.case: row.timing.seconds for row in ours if row.timing is not None}
    for name, rows, longer in map(json.loads, done.stdout.splitlines()):
        found.append(Row(f"{name}, sliced", setting, data.cosine(np.array(rows)), "cosine", Timing(longer)))
        found.append(Row(f"{name}, sliced / ours", setting, longer / seconds[name], "times the seconds"))
    return found


def regression_rows(data: Data) -> list[Row]:
    """Networks, kernels and boosting: risk and time, each over those of the two-layer network."""
    setting = "d={1} n={0}".format(*data.inputs.shape)
    grid = {"kernelridge__alpha": 10.0 ** np.arange(-4, 3), "kernelridge__degree": [2, 3]}
    kernel = make_pipeline(StandardScaler(), KernelRidge(kernel="poly", gamma=1 / data.inputs.shape[1]))
    network = make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(512,), early_stopping=True, random_state=0)
    )
    ours = estimators.SlicedInverseRegression(2)
    models = {
        "two layers": estimators.TwoLayerRegressor(random_state=0),
        "multi-index, SIR": estimators.MultiIndexRegressor(ours, random_state=0),
        "random features": estimators.RandomFeatures(random_state=0),
        "kernel, leave-one-out": estimators.KernelRidge(),
        "MLPRegressor": network,
        "KernelRidge, 5-fold": GridSearchCV(kernel, grid),
        "GradientBoosting": GradientBoostingRegressor(random_state=0),
    }
    found: list[Row] = []
    first: tuple[float, float] | None = None
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            begin = process_time()
            model.fit(data.inputs, data.labels)
            seconds = process_time() - begin
        risk = data.risk(model)
        first = first or (risk, seconds)
        found.append(Row(name, setting, risk, "of the variance", Timing(seconds)))
        if len(found) > 1:
            found.append(Row(f"{name} / two layers", setting, risk / first[0], "times the risk"))
            found.append(Row(f"{name} / two layers", setting, seconds / first[1], "times the seconds"))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run, print the table and save it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--machine", default=platform.node() or "unknown", help="a name for the machine")
    parser.add_argument("--output", type=Path, help="where to save; benchmarks/results/estimators-<machine>.json")
    parser.add_argument("--sliced", metavar="PYTHON", help="an interpreter that has the package sliced")
    options = parser.parse_args(arguments)
    where = {"name": options.machine, **machine()}
    data = Data(120, 6) if options.small else Data(3000, 100)
    rows = direction_rows(data)
    if options.sliced is not None:
        rows += sliced_rows(data, options.sliced, rows)
    rows += regression_rows(data)
    print(show(rows))
    path = options.output or (None if options.small else RESULTS / f"estimators-{options.machine}.json")
    if path is not None:
        save(path, where, rows)


if __name__ == "__main__":
    main()
