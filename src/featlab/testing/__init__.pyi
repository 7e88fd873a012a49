from .learner import Checked as Checked
from .learner import CheckFailed as CheckFailed
from .learner import check_learner as check_learner
