"""`featlab simulate EXPR --learner NAME`: order parameters over time on the screen, as a picture, as JSON."""

from __future__ import annotations

from featlab.cli.errors import exit_cleanly, leave_interrupted
from featlab.cli.experiment_options import takes_experiment
from featlab.cli.showing import AsJson, FigureFile, Quiet, check_figure, deliver
from featlab.experiments.experiment import Experiment
from featlab.outcome import Outcome

SIMULATE_EPILOG = """Examples:

featlab simulate "He3(h1)" --learner extragradient --dim 2000 --times 0,20,40,80 --step-size 0.1/d --inner-step 0.3/d \
--loss correlation --constraint spherical --activation tanh --biases 0.5

featlab simulate "tanh(h1)" --learner online-sgd --dim 500 --times 0,1,2,4 --step-size 0.5/d --figure run.png

featlab simulate "He3(h1)" --learner reused-batch --dim 1e5 --samples 3e5 --steps 3 --step-size 0.2 --json

featlab simulate "h1 + h1*h2" --learner giant-steps --dim 1e4 --samples 4e4 --steps 2 --width 16 --paired

featlab simulate "sign(h1*h2)" --learner bayes-amp --dim 300 --samples 2100 --seeds 4

featlab simulate "h1 + He2(h2)" --learner random-features --dim 50 --width 100 --readout 1000 --seeds 3
"""


@exit_cleanly
@takes_experiment
def simulate(
    experiment: Experiment,
    figure: FigureFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a student that learns a function, exactly in law, at any dimension: its overlaps and risk over time."""
    check_figure(figure)
    from featlab.simulation import simulate as compute

    dataset = compute(experiment, progress=False if quiet else None)
    from featlab import figures  # whose names load matplotlib when they are used
    from featlab.reports.run_records import simulation_record
    from featlab.reports.simulation import simulation_text

    deliver(
        "simulate",
        figure=figure,
        draw=lambda: figures.trajectory_figure(dataset),
        as_json=as_json,
        record=lambda: simulation_record(dataset),
        quiet=quiet,
        text=lambda: simulation_text(dataset, experiment.learner, experiment.student),
    )
    if Outcome.INTERRUPTED in dataset["outcome"].values:
        leave_interrupted("; what was done until then is shown")
