from .diagnosis import Findings as Findings
from .diagnosis import examine as examine
from .reading import UnusableData as UnusableData
