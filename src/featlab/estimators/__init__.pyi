from .counting import Count as Count
from .counting import count_directions as count_directions
from .directions import NoDirection as NoDirection
from .gradient_span import GradientSpan as GradientSpan
from .moments import PrincipalHessianDirections as PrincipalHessianDirections
from .moments import SlicedAverageVariance as SlicedAverageVariance
from .moments import SlicedInverseRegression as SlicedInverseRegression
from .spectral import SpectralDirections as SpectralDirections
