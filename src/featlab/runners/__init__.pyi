from .find import KINDS as KINDS
from .find import find_runner as find_runner
from .find import load_study as load_study
from .prediction import PREDICT as PREDICT
from .simulation import SIMULATE as SIMULATE
