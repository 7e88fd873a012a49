"""Do a prediction and a measurement agree: z-scores, a stated finite-size allowance, trends in d, a verdict.

The public names are loaded when they are first asked for. The package itself can be called: `featlab.compare(...)` is
`featlab.compare.compare(...)`.
"""

from __future__ import annotations

from featlab.lazy import callable_package, public_names

_PUBLIC = {
    "compare": "agreement",
    "assert_agrees": "agreement",
    "Agreement": "agreement",
    "Comparison": "agreement",
    "Demonstration": "demonstration",
    "demonstrate": "demonstration",
    "Both": "both",
    "predict_and_simulate": "both",
    "FiniteSize": "laying",
    "Laid": "laying",
    "Trend": "trend",
    "finite_size_trend": "trend",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
callable_package(__name__, "compare")
