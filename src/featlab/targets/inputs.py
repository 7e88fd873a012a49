"""The law of the inputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Isotropic:
    """x ~ N(0, I_d): the fields h = W* x of orthonormal directions are independent standard normals."""
