from .designs.choose import DoesNotFit as DoesNotFit
from .simulator import simulate as simulate
