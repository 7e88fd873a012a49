from .result import Race as Race
from .running import open_race as open_race
from .running import race as race
