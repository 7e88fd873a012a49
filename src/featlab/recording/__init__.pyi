from .drawing import Draw as Draw
from .drawing import draw as draw
from .observing import observe as observe
from .recorder import Recorder as Recorder
