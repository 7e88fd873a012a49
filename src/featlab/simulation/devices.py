"""Seeds spread over the devices of a process, or the samples of a seed that is alone on one.

No seed depends on another, so none waits for another's numbers. The samples of one batch only meet in sums, which the
compiler takes over all devices (`Framed.over`). Programs are compiled for where their arguments lie (JAX's sharding),
so that keys that are spread are enough. What is drawn depends on keys and places alone: results are those of one
device, up to the rounding of a program compiled anew.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import Array


def devices_for(count: int, at_once: int) -> list[jax.Device]:
    """Those that share so many seeds, of which so many fit on one: all of this process, unless JAX was told which.

    Seeds so large that one is alone on its device are not side by side, where their tables would be copied.
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


def sample_devices(rows: int) -> int:
    """Over how many devices a batch of so many samples is spread: as many as there are, and have the same share."""
    if getattr(jax.config, "jax_default_device", None) is not None:
        return 1
    return max(count for count in range(1, len(jax.local_devices()) + 1) if rows % count == 0)


def over_samples(count: int, axis: int, axes: int) -> jax.sharding.NamedSharding | None:
    """How an array lies whose given axis, of so many, is that of the samples, over so many devices; None for one."""
    if count == 1:
        return None
    mesh = jax.sharding.Mesh(np.array(jax.local_devices()[:count]), ("sample",))
    names = ["sample" if place == axis else None for place in range(axes)]
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names))


def on_all(keys: np.ndarray, count: int) -> Array:
    """Keys that each of so many devices has."""
    sharding = over_samples(count, -1, 2)
    return jax.device_put(keys, sharding)
