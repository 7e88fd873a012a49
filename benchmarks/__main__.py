"""Every benchmark, one after the other: python -m benchmarks."""

from __future__ import annotations

from benchmarks import analysis, estimators, learners, simulation, study, theory

if __name__ == "__main__":
    analysis.main()
    simulation.main([])
    learners.main([])
    theory.main([])
    estimators.main([])
    study.main(["overhead"])
