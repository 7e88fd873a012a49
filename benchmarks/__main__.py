"""Every benchmark, one after the other: python -m benchmarks."""

from __future__ import annotations

from benchmarks import analysis, simulation, study

if __name__ == "__main__":
    analysis.main()
    simulation.main([])
    study.main(["overhead"])
