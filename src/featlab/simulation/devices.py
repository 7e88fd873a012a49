"""Seeds spread over the devices of a process: no seed depends on another, so none waits for another's numbers.

Programs are compiled for where their arguments lie (JAX's sharding), so that keys that are spread are enough. What a
seed draws depends on its key alone: results are those of one device, up to the rounding of a program compiled anew.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import Array


def devices_for(count: int, at_once: int) -> list[jax.Device]:
    """Those that share so many seeds, of which so many fit on one: all of this process, unless JAX was told which.

    Seeds so large that one is alone on its device stay on one: side by side, their tables would be copied.
    """
    alone = getattr(jax.config, "jax_default_device", None) is not None or at_once == 1
    return jax.local_devices()[: 1 if alone else count]


def grouped(count: int, at_once: int, devices: int, size: int) -> tuple[int, int]:
    """How many groups, of how many seeds each, where about `size` are to be side by side: as many on each device."""
    if devices == 1:
        return -(-count // size), size
    share = min(-(-size // devices), max(1, at_once // devices))
    return -(-count // (share * devices)), share * devices


def spread(keys: np.ndarray, devices: list[jax.Device]) -> Array:
    """The keys of seeds, as many on each device."""
    if len(devices) == 1:
        return jax.device_put(keys)
    mesh = jax.sharding.Mesh(np.array(devices), ("seed",))
    return jax.device_put(keys, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("seed")))
