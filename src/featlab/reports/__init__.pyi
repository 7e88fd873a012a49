from .diagnosis import Diagnosis as Diagnosis
from .diagnosis import diagnose as diagnose
from .explanation import Explanation as Explanation
from .explanation import explain as explain
