"""The options that say what is to be learned, by whom and how: the same for every command that runs a learner.

They are declared once, as the parameters of `ask`; the decorator `asks` gives them to a command beside its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from featlab.cli.errors import fail
from featlab.cli.learner_options import build_learner, build_student, learner_fields, numbers, other_fields, whole
from featlab.cli.spike_options import AlignmentOption, HypercubeOption, SpikeOption, asked_inputs

if TYPE_CHECKING:
    from featlab.targets import Target

# The learner that has no student, and so a start of its own.
_WITH_ITS_OWN_START = "bayes-amp"
_LEARNER, _STUDENT = "Learner (each takes some of these)", "Student"


@dataclass(frozen=True)
class Asked:
    """What is to be learned, by whom, how, and when to look; `student` is None where no option speaks of it."""

    target: Target
    learner: Any
    student: Any
    dim: int
    samples: int | None
    times: tuple[float, ...] | None

    @property
    def shown_student(self) -> Any:
        """The student as it runs: the default one where nothing was said, None for a learner that has none."""
        kind = self.learner.student_kind
        return None if kind is None else self.student or kind()

    @property
    def sizes(self) -> dict[str, Any]:
        """The keyword arguments that a simulation and a prediction have in common."""
        return {"dim": self.dim, "samples": self.samples, "times": self.times, "student": self.student}


def ask(
    expression: Annotated[str, typer.Argument(metavar="EXPR", help="A function of h1..h9, as in `featlab explain`.")],
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="online-sgd, extragradient, giant-steps, reused-batch, random-features, bayes-amp; preprocessed-step, "
            "kernel-ridge, spherical-flow, normalised-flow, tied-flow, layerwise, langevin; inverse-regression, "
            "average-variance, principal-hessian or spectral-estimator.",
        ),
    ],
    dim: Annotated[str, typer.Option(metavar="D", help="Dimension of the inputs, such as 1e6.")],
    samples: Annotated[
        str | None,
        typer.Option(metavar="N", help="One-pass learners: samples in all; the others: samples in a batch."),
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(metavar="T,..", help="When to look: one-pass learners in units of d steps, others in steps."),
    ] = None,
    noise: Annotated[float, typer.Option(metavar="V", help="Variance of Gaussian noise added to the label.")] = 0.0,
    spike: SpikeOption = None,
    alignment: AlignmentOption = None,
    hypercube: HypercubeOption = None,
    step_size: Annotated[
        str | None, typer.Option(metavar="S", help="A number or a law: 0.1, 0.1/d, 2*d^-0.5.", rich_help_panel=_LEARNER)
    ] = None,
    inner_step: Annotated[
        str | None, typer.Option(metavar="S", help="Extragradient's inner step; < 0 is SAM.", rich_help_panel=_LEARNER)
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Fresh samples per step.", rich_help_panel=_LEARNER)
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="T", help="Number of steps.", rich_help_panel=_LEARNER)] = None,
    steps_per_batch: Annotated[
        int | None, typer.Option(metavar="K", help="A new batch after so many steps.", rich_help_panel=_LEARNER)
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="C[,..]", help="Giant steps: c in eta = c p d^((l-1)/2).", rich_help_panel=_LEARNER),
    ] = None,
    leap: Annotated[int | None, typer.Option(metavar="L", help="Giant steps: l.", rich_help_panel=_LEARNER)] = None,
    loss: Annotated[str | None, typer.Option(help="squared or correlation.", rich_help_panel=_LEARNER)] = None,
    constraint: Annotated[
        str | None, typer.Option(help="none, projected or spherical.", rich_help_panel=_LEARNER)
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(metavar="T", help="Bayes-AMP: iterations at most; 200.", rich_help_panel=_LEARNER)
    ] = None,
    damping: Annotated[
        float | None, typer.Option(help="Bayes-AMP: weight of the old estimate; 0.35.", rich_help_panel=_LEARNER)
    ] = None,
    start_overlap: Annotated[
        float | None,
        typer.Option(metavar="Q", help="Bayes-AMP: overlap, or squared norm, at the start.", rich_help_panel=_LEARNER),
    ] = None,
    power_steps: Annotated[
        int | None, typer.Option(metavar="T", help="Bayes-AMP: steps of a spectral start.", rich_help_panel=_LEARNER)
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Bayes-AMP: relative change at which it stops.", rich_help_panel=_LEARNER)
    ] = None,
    readout: Annotated[
        str | None,
        typer.Option(metavar="N", help="Fit the second layer to N samples, or 'same'.", rich_help_panel=_LEARNER),
    ] = None,
    ridge: Annotated[
        str | None, typer.Option(help="Its ridge, a number or leave-one-out.", rich_help_panel=_LEARNER)
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="FIELD=VALUE",
            help="A field of the learner or its student that has no option here; may be repeated.",
            rich_help_panel=_LEARNER,
        ),
    ] = None,
    width: Annotated[int | None, typer.Option(metavar="P", help="Neurons; 1.", rich_help_panel=_STUDENT)] = None,
    activation: Annotated[
        str | None, typer.Option(metavar="NAME", help="relu, tanh, erf, He3, ..; relu.", rich_help_panel=_STUDENT)
    ] = None,
    second_layer: Annotated[
        str | None, typer.Option(help="ones, alternating, signs or gaussian.", rich_help_panel=_STUDENT)
    ] = None,
    second_scale: Annotated[
        float | None, typer.Option(metavar="C", help="Factor of the second layer.", rich_help_panel=_STUDENT)
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Mirror-image neurons, so that f = 0 at first.", rich_help_panel=_STUDENT)
    ] = False,
    biases: Annotated[
        str | None, typer.Option(metavar="B", help="A number, gaussian or uniform.", rich_help_panel=_STUDENT)
    ] = None,
    bias_scale: Annotated[
        float | None, typer.Option(metavar="C", help="Factor of random biases.", rich_help_panel=_STUDENT)
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="sphere, gaussian, orthogonal or planted; of Bayes-AMP: random, spectral or informed.",
            rich_help_panel=_STUDENT,
        ),
    ] = None,
    planted: Annotated[
        str | None,
        typer.Option(
            metavar="C,..;..", help="Planted cosines: neurons by ';', directions by ','.", rich_help_panel=_STUDENT
        ),
    ] = None,
    norm: Annotated[
        float | None, typer.Option(metavar="R", help="Norm of a row at the start; 1.", rich_help_panel=_STUDENT)
    ] = None,
) -> Asked:
    """What the options ask for; a misuse ends the program with a word on it."""
    learner_options = _given(
        step_size=step_size,
        inner_step=inner_step,
        batch=batch,
        steps=steps,
        steps_per_batch=steps_per_batch,
        scale=scale,
        leap=leap,
        loss=loss,
        constraint=constraint,
        iterations=iterations,
        damping=damping,
        start=start if learner == _WITH_ITS_OWN_START else None,
        start_overlap=start_overlap,
        power_steps=power_steps,
        tolerance=tolerance,
    )
    student_options = _given(
        width=width,
        activation=activation,
        second_layer=second_layer,
        second_scale=second_scale,
        paired=paired or None,
        biases=biases,
        bias_scale=bias_scale,
        start=start if learner != _WITH_ITS_OWN_START else None,
        planted=planted,
        norm=norm,
    )
    for field, value in other_fields(others or []).items():
        _refuse_field_with_option(field)
        (learner_options if field in learner_fields(learner) else student_options)[field] = value
    what = build_learner(learner, learner_options, readout, ridge)
    student = build_student(learner, student_options) if student_options else None
    from featlab.targets import target

    return Asked(
        target=target(expression, noise=noise, inputs=asked_inputs(spike, alignment, hypercube)),
        learner=what,
        student=student,
        dim=whole("dim", dim),
        samples=None if samples is None else whole("samples", samples),
        times=None if times is None else numbers("times", times),
    )


def _refuse_field_with_option(field: str) -> None:
    if field in inspect.signature(ask).parameters:
        fail(f"--with {field}=...: this field has an option of its own, --{field.replace('_', '-')}")


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is an `Asked`, the options of `ask` in its place."""
    common = inspect.signature(ask, eval_str=True).parameters
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])

    @wraps(command)
    def wrapped(**options: Any) -> None:
        asked = ask(**{name: options[name] for name in common})
        command(asked, **{name: options[name] for name in own})

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*common.values(), *own.values())
    ]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


class RunCommand(TyperCommand):
    """A command whose expression may begin with a minus sign, while a mistyped option is still pointed out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        for argument in args[: args.index("--")] if "--" in args else args:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in known:
                close = get_close_matches(name, known, n=1)
                fail(f"no such option: {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().parse_args(ctx, args)


def _given(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}
