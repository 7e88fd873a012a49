from .executor import Dask as Dask
from .executor import FromExecutor as FromExecutor
from .pool import Pool as Pool
from .protocol import Engine as Engine
from .protocol import InProcess as InProcess
