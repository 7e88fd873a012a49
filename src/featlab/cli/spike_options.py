"""The options for inputs that are not isotropic: the same for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.learner_options import numbers

if TYPE_CHECKING:
    from featlab.targets import Hypercube, SpikeLaw

SpikeOption = Annotated[
    float | None,
    typer.Option("--spike", metavar="G2", help="Inputs N(0, I + theta mu mu^T) with theta = d^G2, 0 <= G2 <= 1."),
]
AlignmentOption = Annotated[
    str | None,
    typer.Option(
        "--alignment",
        metavar="G1[,..]",
        help="With --spike: mu's overlap d^-G1 with each direction, 0 <= G1 <= 1/2; 0, perfect alignment.",
    ),
]
HypercubeOption = Annotated[
    float | None,
    typer.Option(
        "--hypercube",
        metavar="ALPHA",
        help="Inputs +-1/sqrt(d), d^(ALPHA/2) times larger along the directions, h = +-1; 0, all alike.",
    ),
]


def asked_inputs(spike: float | None, alignment: str | None, hypercube: float | None) -> SpikeLaw | Hypercube | None:
    """The law that the three options ask for; None, isotropic Gaussian inputs."""
    from featlab.targets.inputs import inputs_in_words

    return inputs_in_words(spike, None if alignment is None else numbers("alignment", alignment), hypercube)


def spiked_inputs(spike: float | None, alignment: str | None) -> SpikeLaw | None:
    """The law that the two options ask for; None, isotropic inputs."""
    from featlab.targets.inputs import spike_in_words

    return spike_in_words(spike, None if alignment is None else numbers("alignment", alignment))
