from .dask import Dask as Dask
from .executor import FromExecutor as FromExecutor
from .in_process import InProcess as InProcess
from .pool import Pool as Pool
from .protocol import Engine as Engine
