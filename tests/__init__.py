"""The tests. Most of their time is compiling programs that run for milliseconds: the compiler optimises less here."""

import os
from importlib.metadata import version

# Half the time of the compiler; programs take at most twice as long as those of users.
_LESS = ["--xla_backend_optimization_level=1", "--xla_llvm_disable_expensive_passes=true"]
# The compiler ends the process at a flag that it does not know: 0.5 did not yet have the first, 0.12 has it no more.
# The second: one piece of code for a program instead of 32, which a sixth of the compiler's time went into. The third:
# products on one thread, as there is a process for each core; on a busy machine several have waited for ever.
if version("jaxlib").startswith("0.10."):
    _LESS += ["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"]
    _LESS += ["--xla_cpu_multi_thread_eigen=false"]

# Read when JAX starts, also by the processes that tests start; given from outside, it stays.
os.environ.setdefault("XLA_FLAGS", " ".join(_LESS))
