from .verdict import Analysis as Analysis
from .verdict import Verdict as Verdict
from .verdict import analyse as analyse
