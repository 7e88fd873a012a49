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
