from .result import Race as Race
from .running import race as race
