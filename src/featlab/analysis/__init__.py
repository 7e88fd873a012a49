"""What can be known of a target before any data: exponents, staircases, thresholds, residuals, sample costs."""

from featlab.analysis.verdict import Analysis, Verdict, analyse

__all__ = ["Analysis", "Verdict", "analyse"]
