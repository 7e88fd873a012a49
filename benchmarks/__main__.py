"""Every benchmark, one after the other: python -m benchmarks."""

from __future__ import annotations

from benchmarks import analysis, estimators, latency, learners, simulation, study, theory

if __name__ == "__main__":
    analysis.main()
    latency.main([])
    simulation.main([])
    learners.main([])
    theory.main([])
    estimators.main([])
    study.main(["overhead"])
