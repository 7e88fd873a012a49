"""A training loop in PyTorch, laid over theory: python docs/own_run_pytorch.py [cuda]

The loop itself is written against the array API, which PyTorch's functions follow, so that the tests can run it where
PyTorch is not installed; there they differentiate by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import featlab
from featlab import Comparison, Experiment, OnlineSgd, Recorder, StepLaw, TwoLayer

STEP = 0.5  # gamma d
BATCH = 2
EXPERIMENT = Experiment.of(
    "h1",
    OnlineSgd(StepLaw(STEP, 1.0), batch=BATCH),
    dim=200,
    times=(0, 0.5, 1, 2),
    student=TwoLayer(activation="relu", start="planted", planted=((0.5,),)),
    seeds=8,
)


def by_torch(weights: Any, inputs: Any, labels: Any) -> Any:
    """dL/dW of L = mean (y - f)^2 / 2, by automatic differentiation."""
    import torch

    weights = weights.detach().requires_grad_()
    output = torch.relu(inputs @ weights.T).mean(dim=1)
    loss = torch.nn.functional.mse_loss(output, labels) / 2
    return torch.autograd.grad(loss, weights)[0]


def train(xp: Any, gradient: Callable[[Any, Any, Any], Any], recorder: Recorder, seed: int, **place: Any) -> None:
    """One seed of the experiment; `place` is device=... or nothing."""
    drawn = featlab.draw(EXPERIMENT, seed)
    inputs, labels, weights = (xp.asarray(part, **place) for part in (drawn.X, drawn.y, drawn.W0))
    rate = EXPERIMENT.student.width * STEP / EXPERIMENT.dim
    for step in range(EXPERIMENT.plan.steps[-1] + 1):
        recorder.look(step, weights, drawn.directions, seed=seed)
        batch = slice(BATCH * step, BATCH * (step + 1))
        if step < EXPERIMENT.plan.steps[-1]:
            weights = weights - rate * gradient(weights, inputs[batch, :], labels[batch])


def compared(xp: Any, gradient: Callable[[Any, Any, Any], Any], **place: Any) -> Comparison:
    """All seeds, over theory."""
    recorder = Recorder(experiment=EXPERIMENT)
    for seed in EXPERIMENT.seeds:
        train(xp, gradient, recorder, seed, **place)
    return featlab.compare(featlab.predict(EXPERIMENT), recorder.dataset())


if __name__ == "__main__":
    import torch

    print(compared(torch, by_torch, device=sys.argv[1] if len(sys.argv) > 1 else "cpu"))
