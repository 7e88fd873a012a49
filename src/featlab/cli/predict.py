"""`featlab predict EXPR --learner NAME`: what theory says of the same run, on the screen, as a picture, as JSON."""

from __future__ import annotations

from functools import partial

from featlab.cli.errors import exit_cleanly
from featlab.cli.experiment_options import takes_experiment
from featlab.cli.showing import AsJson, FigureFile, Quiet, check_figure, deliver
from featlab.experiments.experiment import Experiment
from featlab.experiments.text import RUN_ONLY

PREDICT_EPILOG = """Examples:

featlab predict "He3(h1)" --learner reused-batch --dim 1e6 --samples 3e6 --steps 2 --step-size 0.2 --start orthogonal

featlab predict "tanh(h1)" --learner online-sgd --dim 1e6 --times 0,1,2,4 --step-size 0.5/d --start orthogonal \
--figure theory.png
"""


@exit_cleanly
@partial(takes_experiment, ignored=RUN_ONLY, why="a prediction has no runs and no data")
def predict(experiment: Experiment, figure: FigureFile = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Predict a student that learns a function, in the limit of large dimension: its overlaps and risk over time."""
    check_figure(figure)
    from featlab.theory import predict as compute

    asked = experiment if figure is None else experiment.finely()
    drawn = compute(asked)
    dataset = drawn.isel(time=[asked.plan.steps.index(step) for step in experiment.plan.steps])
    from featlab import figures  # whose names load matplotlib when they are used
    from featlab.reports.comparison import prediction_text
    from featlab.reports.run_records import simulation_record

    deliver(
        "predict",
        figure=figure,
        draw=lambda: figures.prediction_figure(drawn),
        as_json=as_json,
        record=lambda: simulation_record(dataset),
        quiet=quiet,
        text=lambda: prediction_text(dataset, experiment.learner, experiment.student),
    )
