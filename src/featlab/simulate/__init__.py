"""What happens at a finite dimension: designs, students, learning algorithms, run exactly in law.

The public names are loaded when they are first asked for. The package itself can be called: `featlab.simulate(...)` is
`featlab.simulate.simulate(...)`, since a package and a function cannot both be `featlab.simulate`.
"""

from __future__ import annotations

from featlab.lazy import callable_package, public_names

_PUBLIC = {"simulate": "door", "DoesNotFit": "designs.choose"}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
callable_package(__name__, "simulate")
