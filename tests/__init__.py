"""The tests. Most of their time is compiling programs that run for milliseconds: the compiler optimises less here."""

import mmap
import os
from importlib.util import find_spec
from pathlib import Path

# Half the time of the compiler; programs take at most twice as long as those of users.
_LESS = {
    "xla_backend_optimization_level": "1",
    "xla_llvm_disable_expensive_passes": "true",
    "xla_cpu_use_fusion_emitters": "false",
}


def _known(flag: str) -> bool:
    """Whether this version of the compiler has the flag: it ends the process at one that it does not know."""
    spec = find_spec("jaxlib")
    assert spec is not None
    assert spec.origin is not None
    library = max(Path(spec.origin).parent.glob("*.so"), key=lambda path: path.stat().st_size)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(flag.encode()) >= 0


# Read when JAX starts, also by the processes that tests start; given from outside, it stays.
if "XLA_FLAGS" not in os.environ:
    os.environ["XLA_FLAGS"] = " ".join(f"--{flag}={value}" for flag, value in _LESS.items() if _known(flag))
