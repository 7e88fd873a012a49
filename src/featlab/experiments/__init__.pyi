from .experiment import Experiment as Experiment
from .schedules import Schedule as Schedule
from .schedules import schedule as schedule
from .text import experiment_from_text as experiment_from_text
from .text import experiment_to_text as experiment_to_text
from .text import known_names as known_names
from .text import learner_from_text as learner_from_text
from .text import learner_to_text as learner_to_text
