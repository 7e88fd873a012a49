"""`featlab compare EXPR --learner NAME`: theory over simulation of the same run, with a verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from featlab.cli.errors import exit_cleanly, leave_interrupted
from featlab.cli.experiment_options import takes_experiment
from featlab.cli.showing import AsJson, FigureFile, Quiet, check_figure, deliver
from featlab.experiments.experiment import Experiment
from featlab.outcome import Outcome

# Exit codes: scripts may rely on them.
CODES = {"agrees": 0, "disagrees": 1, "cannot tell": 3}

COMPARE_EPILOG = """Exit code: 0 agrees, 1 disagrees, 3 cannot tell (noise, or no evidence), 2 misuse, 130 interrupted.

Examples:

featlab compare "He3(h1)" --learner reused-batch --dim 2e4 --samples 6e4 --steps 2 --step-size 0.3 --start orthogonal \
--seeds 60 --sizes 1

featlab compare "tanh(h1)" --learner online-sgd --dim 1000 --times 0,1,2,4 --step-size 0.5/d --start orthogonal \
--figure both.png
"""


@exit_cleanly
@takes_experiment
def compare(
    experiment: Experiment,
    sizes: Annotated[
        int,
        typer.Option(metavar="N", help="At how many sizes it is run, to find its limit: 3, as d, 4d and 16d; 2; or 1."),
    ] = 3,
    most_seeds: Annotated[
        int,
        typer.Option(metavar="N", help="Where --seeds are too few to tell, up to so many are run; 0: none are added."),
    ] = 160,
    allowance: Annotated[
        float | None,
        typer.Option(
            metavar="F",
            help="One size, and what it may change of each value; for one size 1/sqrt(d), or sqrt(d/n) of flows.",
        ),
    ] = None,
    signless: Annotated[
        bool, typer.Option("--signless", help="Compare absolute values: the target's symmetry makes signs arbitrary.")
    ] = False,
    figure: FigureFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict a run, simulate it at several sizes, and say whether its limit is the predicted one (exit code, too)."""
    check_figure(figure)
    from featlab.comparison import predict_and_simulate

    both = predict_and_simulate(
        experiment,
        sizes=sizes,
        most_seeds=most_seeds,
        allowance=allowance,
        signless=signless,
        progress=False if quiet else None,
    )
    from featlab import figures  # whose names load matplotlib when they are used
    from featlab.reports.comparison import comparison_text
    from featlab.reports.run_records import full_record

    deliver(
        "compare",
        figure=figure,
        draw=lambda: figures.comparison_figure(both.drawn(), both.simulation, both.comparison),
        as_json=as_json,
        record=lambda: full_record(both),
        quiet=quiet,
        text=lambda: comparison_text(both, experiment.learner, experiment.student),
    )
    if any(Outcome.INTERRUPTED in run["outcome"].values for run in (both.simulation, *(run for _, run in both.others))):
        leave_interrupted("; what was done until then is compared")
    raise typer.Exit(CODES[both.comparison.verdict])
