"""`featlab predict EXPR --learner NAME`: what theory says of the same run, on the screen, as a picture, as JSON."""

from __future__ import annotations

from featlab.cli.errors import exit_cleanly
from featlab.cli.run_options import Asked, asks
from featlab.cli.showing import AsJson, FigureFile, Quiet, check_figure, deliver

PREDICT_EPILOG = """Examples:

featlab predict "He3(h1)" --learner reused-batch --dim 1e6 --samples 3e6 --steps 2 --step-size 0.2 --start orthogonal

featlab predict "tanh(h1)" --learner online-sgd --dim 1e6 --times 0,1,2,4 --step-size 0.5/d --start orthogonal \
--figure theory.png
"""


@exit_cleanly
@asks
def predict(asked: Asked, figure: FigureFile = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Predict a student that learns a function, in the limit of large dimension: its overlaps and risk over time."""
    check_figure(figure)
    from featlab.theory import predict as compute

    dataset = compute(asked.target, asked.learner, **asked.sizes)
    from featlab.figures import prediction_figure
    from featlab.reports.comparison import prediction_text
    from featlab.reports.records import simulation_record

    deliver(
        figure=figure,
        draw=lambda: prediction_figure(dataset),
        as_json=as_json,
        record=lambda: simulation_record(dataset),
        quiet=quiet,
        text=lambda: prediction_text(dataset, asked.learner, asked.shown_student),
    )
