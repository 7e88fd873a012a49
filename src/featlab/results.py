"""The names and axes of order parameters: what makes a prediction and a simulation comparable.

Both are datasets in which a name always has the same meaning and the same axes, after `time` and, where there are
several runs, `seed`.
"""

from __future__ import annotations

# Name -> (axes after seed and time, meaning). "risk" brings its own statistical error, "risk_error".
QUANTITIES: dict[str, tuple[tuple[str, ...], str]] = {
    "overlap": (("neuron", "direction"), "M = W W*^T"),
    "gram": (("neuron", "other_neuron"), "Q = W W^T"),
    "norm": (("neuron",), "|w_i|"),
    "cosine": (("neuron", "direction"), "M_ik / |w_i|"),
    "subspace": (("component",), "singular values of the matrix of cosines, over sqrt(p)"),
    "spectrum": (("mode",), "singular values of W, the largest first"),
    "risk": ((), "E[(y - f)^2] on fresh samples, label noise included"),
    "posterior_risk": ((), "E[(y - E[y | What x, C])^2] on fresh samples, of the posterior mean of the label"),
    "risk_error": ((), "standard error of the risk, from its finite number of fresh fields"),
    "ridge": ((), "lambda of the fitted second layer, or of the kernel's fit"),
    "captured": ((), "E[f* f] / E[f*^2] on fresh samples: the share of the target that the fit reproduces"),
    "step_size": ((), "gamma of the step that was taken; NaN before it"),
    "eigenvalue": (("component",), "leading eigenvalues of the learner's matrix, the largest in size first"),
    "growth": ((), "leading eigenvalue of the iteration linearised where nothing is known"),
    "gradient_cosine": (("neuron", "direction"), "cosine of the last gradient of each neuron with each direction"),
    "weights": (("neuron", "axis"), "W in the coordinates of the design"),
    "second_layer": (("neuron",), "a, which is never trained"),
    "biases": (("neuron",), "b, which are never trained"),
    "accuracy": ((), "P(sign f = y) on fresh samples"),
    "logistic_loss": ((), "E[log(1 + exp(-y f))] on fresh samples"),
    "batch_loss": ((), "mean of log(1 + exp(-y f)) over the batch"),
    "excess_risk": ((), "E[(f* - f)^2] on fresh samples, label noise not included; before any fine-tuning"),
    "restart_cosine": (("restart", "direction"), "cosine of theta with each direction, of every start"),
    "restart_loss": (("restart",), "regularised training loss of every start; the lowest is chosen"),
    "restart_second_layer": (("restart", "unit"), "c of every start"),
    "restart_knots": (("restart", "unit"), "eps_i b_i of every start, where its neurons bend; never trained"),
    "restart_signs": (("restart", "unit"), "eps_i of every start; never trained"),
    "field_correlation": (("neuron", "direction"), "correlation of <w_i, x> with the target's field, fresh inputs"),
    "spike_overlap": (("neuron",), "<w_i, mu>, mu the direction of the inputs' spike"),
    "train_loss": (("neuron",), "loss of each neuron by itself on the batch"),
    "first_overlap": ((), "M_W = sqrt(mean_i |W* w_i|^2 / |w_i|^2)"),
    "hidden_overlap": ((), "M_h = sqrt(mean_j sum_i corr(<v_j, z>, h_i*)^2) of the second layer's fields"),
    "risk_share": ((), "risk over the variance of the label"),
}
# What a prediction needs to know of a student at its start; and of an estimate that has no second layer.
START = ("overlap", "gram", "second_layer", "biases")
ESTIMATE_START = START[:2]
# What goes to infinity in a prediction: see `featlab.theory.question.Prediction`.
LIMITS = ("dimension", "samples", "sizes")
# And of networks that share one direction each, from several starts.
TIED_START = ("restart_cosine", "restart_second_layer", "restart_knots", "restart_signs")
# What `featlab.simulate` measures beside the usual ones, so that `featlab.predict(..., start=run)` can begin there and
# the share of each direction be told, of a student of at most so many neurons.
BESIDES = ("gram", "second_layer", "biases", *TIED_START[1:])
MOST_BESIDES = 32

# How each quantity is called on an axis, and its unit: "1" has none, "label" is that of y.
_CALLED: dict[str, tuple[str, str]] = {
    "overlap": ("overlap of each neuron with each direction", "1"),
    "gram": ("inner products of neurons", "1"),
    "norm": ("norm of each neuron", "1"),
    "cosine": ("cosine of each neuron with each direction", "1"),
    "subspace": ("singular values of the cosines", "1"),
    "risk": ("risk", "label^2"),
    "posterior_risk": ("risk of the posterior mean", "label^2"),
    "risk_error": ("standard error of the risk", "label^2"),
    "ridge": ("ridge lambda", "1"),
    "captured": ("captured share of the target", "1"),
    "step_size": ("step size", "1"),
    "eigenvalue": ("leading eigenvalues", "1"),
    "growth": ("growth where nothing is known", "1"),
    "gradient_cosine": ("cosine of each gradient with each direction", "1"),
    "weights": ("weights", "1"),
    "second_layer": ("second layer", "label"),
    "biases": ("biases", "1"),
    "accuracy": ("accuracy", "1"),
    "logistic_loss": ("logistic loss", "1"),
    "batch_loss": ("logistic loss on the batch", "1"),
    "excess_risk": ("excess risk", "label^2"),
    "restart_cosine": ("cosine of every start with each direction", "1"),
    "restart_loss": ("training loss of every start", "label^2"),
    "restart_second_layer": ("second layer of every start", "label"),
    "restart_knots": ("knots of every start", "1"),
    "restart_signs": ("signs of every start", "1"),
    "field_correlation": ("correlation of each neuron's field with the target's", "1"),
    "spike_overlap": ("overlap of each neuron with the spike", "1"),
    "train_loss": ("training loss of each neuron", "label^2"),
    "first_overlap": ("overlap of the first layer", "1"),
    "hidden_overlap": ("overlap of the second layer's fields", "1"),
    "risk_share": ("risk over the variance of the label", "1"),
    "outcome": ("how it ended", "1"),
    "run_outcome": ("what became of the run", "1"),
    "iterations": ("iterations until it stopped", "iterations"),
    "diverged_step": ("step at which it diverged, -1: none", "steps"),
    "seed": ("number of the run", "1"),
    "time": ("time", "1"),
    "step": ("number of steps", "steps"),
    "direction": ("direction of the target", "1"),
    "neuron": ("neuron", "1"),
    "other_neuron": ("neuron", "1"),
}
# Those that are no quantities: axes, and how runs ended.
OF_DATASETS = tuple(name for name in _CALLED if name not in QUANTITIES)


def attributes(name: str) -> dict[str, str]:
    """What a variable of a dataset says of itself: `long_name`, `units`, and of a quantity its formula, `meaning`."""
    plain = name.removesuffix("_error") if name not in _CALLED else name
    called, units = _CALLED.get(plain, (plain.replace("_", " "), "1"))
    meaning = {"meaning": QUANTITIES[plain][1]} if plain in QUANTITIES else {}
    if plain == name:
        return {"long_name": called, "units": units} | meaning
    return {"long_name": f"numerical error of the {called}", "units": units, "meaning": f"numerical error of {plain}"}


def label(axis: str, number: int) -> str | int:
    """What a place on an axis is called: directions are h1, h2, .. and neurons 1, 2, .., as in pictures."""
    return f"h{number + 1}" if axis == "direction" else number + 1
