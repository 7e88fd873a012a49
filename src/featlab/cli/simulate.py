"""`featlab simulate EXPR --learner NAME`: order parameters over time on the screen, as a picture, as JSON."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from featlab.cli.errors import INTERRUPTED, exit_cleanly, fail
from featlab.cli.learner_options import build_learner, build_student, numbers, whole

if TYPE_CHECKING:
    import xarray as xr

SIMULATE_EPILOG = """Examples:

featlab simulate "He3(h1)" --learner extragradient --dim 2000 --times 0,20,40,80 --step-size 0.1/d --inner-step 0.3/d \
--loss correlation --constraint spherical --activation tanh --biases 0.5

featlab simulate "tanh(h1)" --learner online-sgd --dim 500 --times 0,1,2,4 --step-size 0.5/d --figure run.png

featlab simulate "He3(h1)" --learner reused-batch --dim 1e5 --samples 3e5 --steps 3 --step-size 0.2 --json

featlab simulate "h1 + h1*h2" --learner giant-steps --dim 1e4 --samples 4e4 --steps 2 --width 16 --paired

featlab simulate "h1 + He2(h2)" --learner random-features --dim 50 --width 100 --readout 1000 --seeds 3
"""
_FORMATS = (".png", ".svg", ".pdf")
_LEARNER, _STUDENT, _SHOW = "Learner (each takes some of these)", "Student", "Output"


class SimulateCommand(TyperCommand):
    """A command whose expression may begin with a minus sign, while a mistyped option is still pointed out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        for argument in args[: args.index("--")] if "--" in args else args:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in known:
                close = get_close_matches(name, known, n=1)
                fail(f"no such option: {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().parse_args(ctx, args)


@exit_cleanly
def simulate(
    expression: Annotated[str, typer.Argument(metavar="EXPR", help="A function of h1..h9, as in `featlab explain`.")],
    learner: Annotated[
        str,
        typer.Option(metavar="NAME", help="online-sgd, extragradient, giant-steps, reused-batch or random-features."),
    ],
    dim: Annotated[str, typer.Option(metavar="D", help="Dimension of the inputs, such as 1e6.")],
    seeds: Annotated[str, typer.Option(metavar="N", help="How many independent runs.")] = "10",
    samples: Annotated[
        str | None,
        typer.Option(metavar="N", help="One-pass learners: samples in all; the others: samples in a batch."),
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(metavar="T,..", help="When to look: one-pass learners in units of d steps, others in steps."),
    ] = None,
    noise: Annotated[float, typer.Option(metavar="V", help="Variance of Gaussian noise added to the label.")] = 0.0,
    design: Annotated[
        str, typer.Option(help="How the data exist: auto, virtual, dice, streamed or dense; all are exact in law.")
    ] = "auto",
    key: Annotated[int, typer.Option(metavar="K", help="The root of all randomness.")] = 0,
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
    readout: Annotated[
        str | None,
        typer.Option(metavar="N", help="Fit the second layer to N samples, or 'same'.", rich_help_panel=_LEARNER),
    ] = None,
    ridge: Annotated[
        str | None, typer.Option(help="Its ridge, a number or leave-one-out.", rich_help_panel=_LEARNER)
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
    start: Annotated[str | None, typer.Option(help="sphere, gaussian or orthogonal.", rich_help_panel=_STUDENT)] = None,
    norm: Annotated[
        float | None, typer.Option(metavar="R", help="Norm of a row at the start; 1.", rich_help_panel=_STUDENT)
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a picture (png, svg, pdf).", rich_help_panel=_SHOW)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with all data instead.", rich_help_panel=_SHOW)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No table, no progress bar, no remarks.", rich_help_panel=_SHOW)
    ] = False,
) -> None:
    """Simulate a student that learns a function, exactly in law, at any dimension: its overlaps and risk over time."""
    _check_figure(figure)
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
    )
    student_options = _given(
        width=width,
        activation=activation,
        second_layer=second_layer,
        second_scale=second_scale,
        paired=paired or None,
        biases=biases,
        bias_scale=bias_scale,
        start=start,
        norm=norm,
    )
    what = build_learner(learner, learner_options, readout, ridge)
    student = build_student(student_options)
    from featlab.simulate import simulate as compute
    from featlab.targets import target

    dataset = compute(
        target(expression, noise=noise),
        what,
        dim=whole("dim", dim),
        seeds=whole("seeds", seeds),
        samples=None if samples is None else whole("samples", samples),
        times=None if times is None else numbers("times", times),
        student=student,
        design=design,
        key=key,
        progress=sys.stderr.isatty() and not quiet,
    )
    if figure is not None:
        _write(figure, dataset)
    if as_json:
        _print_json(dataset)
    elif not quiet:
        _show(dataset, what, student)
    if figure is not None and not quiet:
        typer.echo(f"The picture is in {figure}", err=True)
    if "interrupted" in dataset["outcome"].values:
        typer.echo("featlab: interrupted; what was done until then is shown", err=True)
        raise typer.Exit(INTERRUPTED)


def _given(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _print_json(dataset: xr.Dataset) -> None:
    import json

    from featlab.reports.simulation import simulation_record

    typer.echo(json.dumps(simulation_record(dataset), allow_nan=False))


def _check_figure(path: Path | None) -> None:
    """Before the run, not after it: a picture that could not be written would be a run lost."""
    if path is None:
        return
    if path.suffix.lower() not in _FORMATS:
        fail(f"--figure: got {str(path)!r}, expected a name that ends in {', '.join(_FORMATS)}")
    if path.is_dir() or not path.parent.is_dir():
        fail(f"--figure: got {str(path)!r}, which cannot be written: no directory {str(path.parent)!r}")


def _write(path: Path, dataset: xr.Dataset) -> None:
    from featlab.figures import trajectory_figure

    try:
        trajectory_figure(dataset).savefig(path, dpi=150, facecolor="white")
    except OSError as fault:
        fail(f"--figure: got {str(path)!r}, which cannot be written: {fault.strerror or fault}")


def _show(dataset: xr.Dataset, learner: Any, student: Any) -> None:
    from rich.console import Console

    from featlab.reports.simulation import simulation_text

    console, text = Console(), simulation_text(dataset, learner, student)
    if console.is_terminal:
        console.print(text)
        return
    with console.capture() as capture:
        console.print(text)
    typer.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))
