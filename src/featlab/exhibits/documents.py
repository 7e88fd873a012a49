"""The documents whose claims are put to the test: talks, a poster and reading notes, each with the papers behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """A document: its key, its title, and in a sentence what it is about."""

    key: str
    title: str
    about: str


STRUCTURED_DATA = Document(
    "structured-data",
    "Feature learning on structured data",
    "A talk: kernels against networks after one gradient step, inputs with a spike, normalised flows, Langevin "
    "dynamics on parities.",
)
"""A talk on kernels and networks where inputs have a spike."""
GIANT_STEPS = Document(
    "giant-steps",
    "Learning one giant step at a time",
    "A talk: what one or several large gradient steps find, and what the second layer then explains.",
)
"""A talk on one and several large gradient steps."""
TIED_NETWORK = Document(
    "tied-network",
    "Single-index models with shallow networks",
    "A poster: gradient flow of a network whose neurons share one direction.",
)
"""A poster on networks whose neurons share one direction."""
MULTI_INDEX = Document(
    "multi-index",
    "Multi-index models: easy, hard, and by which algorithm",
    "A talk: message passing, one-pass and reused-batch gradient descent, spectra of features, depth.",
)
"""A talk on message passing, one-pass and reused-batch gradient descent."""
FIRST_STEP = Document(
    "first-step",
    "The first gradient step",
    "Reading notes: representations learned by one step, its rank-one gradient, ridge on trained features.",
)
"""Reading notes on the first gradient step."""
# Ours, in the order in which they are shown; those of other packages come after them.
DOCUMENTS = (STRUCTURED_DATA, GIANT_STEPS, TIED_NETWORK, MULTI_INDEX, FIRST_STEP)
