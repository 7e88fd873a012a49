from .diagnosis import Findings as Findings
from .diagnosis import examine as examine
from .faults import UnusableData as UnusableData
