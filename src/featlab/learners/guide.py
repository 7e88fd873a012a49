"""What each learner of this package does, in a line, the papers it comes from, and a command that runs it.

`featlab learners` and the help of the commands show it; options, defaults and units come from the fields themselves.
"""

from __future__ import annotations

from typing import NamedTuple

RANDOM_FEATURES = "random-features"
# What is said of an experiment by no field: the law of its inputs, and a second layer fitted after it. Name -> what
# it takes, and its meaning.
INPUTS = {
    "noise": ("V", "Variance of Gaussian noise added to the label; 0."),
    "spike": ("G2", "Inputs N(0, I + theta mu mu^T) with theta = d^G2, 0 <= G2 <= 1."),
    "alignment": (
        "G1[,..]",
        "With --spike: mu's overlap d^-G1 with each direction, 0 <= G1 <= 1/2; 0, perfect alignment.",
    ),
    "hypercube": ("ALPHA", "Inputs +-1/sqrt(d), d^(ALPHA/2) times larger along the directions, h = +-1; 0, all alike."),
}
READOUT = {
    "readout": ("N", "Fit the second layer to N samples, or 'same', by ridge regression."),
    "ridge": ("X|leave-one-out", "Its ridge lambda."),
    "readout_biases": ("X|gaussian|uniform", "New biases for the fit."),
    "readout_bias_scale": ("X|fields", "Factor of these, or as wide as the fields."),
}


class Guide(NamedTuple):
    """Of one learner: what it does, keys of `featlab.citations.CITATIONS`, and arguments of `featlab simulate`."""

    does: str
    papers: tuple[str, ...]
    example: str


GUIDES: dict[str, Guide] = {
    "online-sgd": Guide(
        "One-pass stochastic gradient descent: every step sees fresh samples.",
        ("benarous2021",),
        '"tanh(h1)" --learner online-sgd --dim 500 --times 0,1,2,4 --step-size 0.5/d',
    ),
    "extragradient": Guide(
        "One-pass descent whose gradient is taken after an inner step on the same sample; backwards, it is SAM.",
        ("arnaboldi2024",),
        '"He3(h1)" --learner extragradient --dim 500 --times 0,10,20 --step-size 0.1/d --inner-step 0.3/d '
        "--loss correlation --constraint spherical --activation tanh --biases 0.5",
    ),
    "giant-steps": Guide(
        "A few gradient steps of order one or larger, each on a fresh batch of n samples.",
        ("dandi2023", "ba2022"),
        '"h1 + h1*h2" --learner giant-steps --dim 1e4 --samples 4e4 --steps 2 --width 16 --paired',
    ),
    "preprocessed-step": Guide(
        "Labels without their linear part, one gradient step, new biases, a second layer by ridge regression.",
        ("damian2022",),
        '"He2(h1)" --learner preprocessed-step --dim 50 --samples 5000 --width 50 --seeds 3',
    ),
    "reused-batch": Guide(
        "Gradient steps on one batch of n samples that is used again.",
        ("dandi2024",),
        '"He3(h1)" --learner reused-batch --dim 1e5 --samples 3e5 --steps 3 --step-size 0.2',
    ),
    "sign-sgd": Guide(
        "Descent along the sign of every coordinate of the gradient, which knows the axes.",
        ("bernstein2018",),
        '"tanh(h1)" --learner sign-sgd --dim 50 --times 0,5,10 --step-size 0.1/d --seeds 3',
    ),
    "adam": Guide(
        "Adam: every coordinate of the gradient divided by its own past, which knows the axes.",
        ("kingma2015",),
        '"tanh(h1)" --learner adam --dim 50 --times 0,5,10 --step-size 0.1/d --seeds 3',
    ),
    "bayes-amp": Guide(
        "Bayes-optimal approximate message passing, which knows the link; the best known polynomial-time learner.",
        ("troiani2024",),
        '"sign(h1*h2)" --learner bayes-amp --dim 300 --samples 2100 --seeds 4',
    ),
    "kernel-ridge": Guide(
        "Ridge regression with a kernel of <x, x'>, which learns no features.",
        ("ghorbani2021", "misiakiewicz2022"),
        '"h1 + He2(h2)" --learner kernel-ridge --dim 50 --samples 500 --seeds 3',
    ),
    "inverse-regression": Guide(
        "SIR: the principal directions of the inputs' means over slices of the label.",
        ("li1991",),
        '"tanh(h1)" --learner inverse-regression --dim 100 --samples 1000 --seeds 3',
    ),
    "average-variance": Guide(
        "SAVE: the principal directions of the inputs' covariances over slices of the label.",
        ("cook1991",),
        '"He2(h1)" --learner average-variance --dim 100 --samples 2000 --seeds 3',
    ),
    "principal-hessian": Guide(
        "PHD: the leading eigenvectors of the mean of residual times x x^T.",
        ("li1992",),
        '"He2(h1)" --learner principal-hessian --dim 100 --samples 2000 --seeds 3',
    ),
    "spectral-estimator": Guide(
        "The optimal spectral method: message passing linearised where nothing is known.",
        ("defilippis2025",),
        '"h1*h2" --learner spectral-estimator --dim 100 --samples 2000 --seeds 3',
    ),
    "langevin": Guide(
        "Mean-field Langevin dynamics, noisy gradient descent of all weights, on inputs +-1; it classifies.",
        ("suzuki2023", "nitanda2024"),
        '"sign(h1*h2)" --learner langevin --hypercube 0 --dim 10 --samples 200 --width 50 --steps 100 --step-size 0.5 '
        "--temperature 0.001 --seeds 2",
    ),
    "tied-flow": Guide(
        "Projected gradient flow of a network whose neurons share one direction, from several starts.",
        ("bietti2022",),
        '"He2(h1)" --learner tied-flow --dim 20 --samples 400 --frozen-time 1 --time 2 --interval 1 --seeds 2',
    ),
    "layerwise": Guide(
        "A network of three layers, trained one layer after the other, each on its own samples.",
        ("dandi2025",),
        '"tree(tanh(h1), He2(h1), 4)" --learner layerwise --dim 16 --samples 2000 --step-size 4 --steps 2 --width 64 '
        "--second-width 16 --seeds 2",
    ),
    "spherical-flow": Guide(
        "Gradient flow of single neurons on the sphere, on one batch.",
        ("benarous2021", "bietti2022"),
        '"tanh(h1)" --learner spherical-flow --dim 50 --samples 500 --steps 30 --seeds 3',
    ),
    "normalised-flow": Guide(
        "Gradient flow of single neurons with normalised weights, which a spike in the inputs does not mislead.",
        ("mousavi2023",),
        '"tanh(h1)" --learner normalised-flow --spike 0.5 --alignment 0.25 --dim 50 --samples 500 --steps 30 --seeds 3',
    ),
    RANDOM_FEATURES: Guide(
        "A first layer that stays as it was drawn, and a second one fitted by ridge regression.",
        ("mei2022",),
        '"h1 + He2(h2)" --learner random-features --dim 50 --width 100 --readout 1000 --seeds 3',
    ),
}
