"""The link itself: a curve for one direction, a map for two, slices for more."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from featlab.analysis.energies import Energies
from featlab.figures.style import DIVERGING, INK, MUTED, SEQUENTIAL, SERIES, TEXT_SIZE, add_legend, dress, new_figure
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Target

REACH = 3.2
SLICE_AT = 1.0  # at 0 an odd link would show nothing
_HIDDEN_NODES = {0: 1, 1: 24, 2: 10, 3: 6, 4: 4}
_MOST_APPROXIMATIONS = 3
_MOST_MAPS = 6  # of all pairs of directions; of more, the first neighbours


def link_figure(target: Target, energies: Energies | None = None) -> Figure:
    """The mean label as a function of the directions (noise inside the link is averaged out); of one direction with its
    best approximations by polynomials, where the energies are known.

    Examples:
        >>> import featlab
        >>> featlab.figures.link_figure(featlab.target("tanh(h1)"))
        <Figure size 560x340 with 1 Axes>
    """
    if target.rank == 1:
        return _curve(target, energies)
    pairs = list(combinations(range(target.rank), 2))
    if len(pairs) > _MOST_MAPS:
        pairs = [(k, k + 1) for k in range(target.rank - 1)][:_MOST_MAPS]
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = new_figure(4.4 if len(pairs) == 1 else 2.9 * columns, 3.6 if len(pairs) == 1 else 2.8 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    maps = [_slice(target, pair) for pair in pairs]
    low, high = _colour_range(maps)
    for axes, pair, values in zip(grid.ravel(), pairs, maps, strict=True):
        image = _map(axes, target, pair, values, low, high)
    bar = figure.colorbar(image, ax=grid, shrink=0.9, aspect=30, extend="both")
    bar.ax.tick_params(colors=INK, labelsize=TEXT_SIZE - 1)
    bar.outline.set_visible(False)
    return figure


def mean_label(target: Target, fields: Floats) -> Floats:
    """E[link | h] at fields (..., rank): the average over the noise variables inside the link."""
    if target.hidden == 0:
        return target.link(fields)
    nodes, weights = gauss_pieces([0.0], _HIDDEN_NODES[target.hidden])
    total = np.zeros(fields.shape[:-1])
    for places in map(list, product(range(nodes.size), repeat=target.hidden)):
        noise = np.broadcast_to(nodes[places], (*fields.shape[:-1], target.hidden))
        total += np.prod(weights[places]) * target.link(np.concatenate([fields, noise], axis=-1))
    return total


def approximation(energies: Energies, degree: int, x: Floats) -> Floats:
    """The projection of a one-direction link on polynomials of this degree, sum_{k <= degree} c_k h_k(x)."""
    basis = hermite_normalised_all(degree, x)
    coefficients = np.array([float(energies.coefficients[k][0]) for k in range(degree + 1)])
    return np.tensordot(coefficients, basis, axes=1)


def telling_degrees(energies: Energies) -> list[int]:
    """The lowest degrees that carry at least a thousandth of the variance: the approximations worth a curve."""
    share = energies.per_degree / energies.variance
    return [k for k in range(1, len(share)) if share[k] >= 1e-3][:_MOST_APPROXIMATIONS]


def _curve(target: Target, energies: Energies | None) -> Figure:
    figure = new_figure(5.6, 3.4)
    axes = dress(figure.add_subplot(), x="h1", y="label")
    x = np.linspace(-REACH, REACH, 1600)
    values = mean_label(target, x[:, None])
    density = np.exp(-(x**2) / 2)
    low, high = _range(values, density)
    for colour, degree in zip(SERIES, [] if energies is None else telling_degrees(energies), strict=False):
        near = approximation(energies, degree, x) if energies is not None else x
        axes.plot(x, near, color=colour, linewidth=1.3, label=f"up to degree {degree}")
    name = "link" if target.hidden == 0 else "link, mean over its noise"
    axes.plot(x, broken_at_jumps(target, x[:, None], values), color=INK, linewidth=2.0, label=name, zorder=3)
    hill = low + 0.16 * (high - low) * density
    axes.fill_between(x, low, hill, color=MUTED, alpha=0.25, linewidth=0, label="law of h1")
    axes.set_xlim(-REACH, REACH)
    axes.set_ylim(low, high)
    add_legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def broken_at_jumps(target: Target, fields: Floats, values: Floats) -> Floats:
    """Values along a line of fields (n, rank), NaN beside every jump: no vertical line pretends that the link is
    continuous."""
    broken = values.copy()
    if target.hidden:
        return broken
    for kink in target.kinks:
        if kink.kind == "corner":
            continue
        surface = np.sign(kink.function(fields))
        crossing = np.nonzero(surface[1:] != surface[:-1])[0]
        broken[crossing] = np.nan
    return broken


def _slice(target: Target, pair: tuple[int, int]) -> Floats:
    """Values (N, N) on the plane of two directions, the others held at one; rows are the second direction."""
    axis = _map_axis()
    fields = np.full((axis.size, axis.size, target.rank), SLICE_AT)
    fields[..., pair[0]], fields[..., pair[1]] = np.meshgrid(axis, axis)
    return mean_label(target, fields)


def _map(axes: Axes, target: Target, pair: tuple[int, int], values: Floats, low: float, high: float) -> AxesImage:
    others = [f"h{k + 1} = {SLICE_AT:g}" for k in range(target.rank) if k not in pair]
    title = ", ".join(others) if len(others) <= 2 else f"all others = {SLICE_AT:g}"
    dress(axes, title=title, x=f"h{pair[0] + 1}", y=f"h{pair[1] + 1}", grid=None)
    colours = DIVERGING if low == -high else SEQUENTIAL
    extent = (-REACH, REACH, -REACH, REACH)
    image = axes.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high)
    angle = np.linspace(0, 2 * np.pi, 200)
    radius = np.sqrt(2 * np.log(10))  # P(|(h1, h2)| < radius) = 0.9
    axes.plot(radius * np.cos(angle), radius * np.sin(angle), color="black", linewidth=0.8, linestyle=(0, (2, 3)))
    axes.set_xticks([-2, 0, 2])
    axes.set_yticks([-2, 0, 2])
    return image


def _range(values: Floats, weights: Floats) -> tuple[float, float]:
    """Limits that show what is likely under the Gaussian: steep tails and poles must not flatten everything else."""
    order = np.argsort(values, axis=None)
    rank = np.cumsum(weights.ravel()[order])
    low, high = np.interp([0.01, 0.99], rank / rank[-1], values.ravel()[order])
    span = max(high - low, 1e-12)
    if values.min() >= low - 0.5 * span and values.max() <= high + 0.5 * span:
        low, high = values.min(), values.max()
    margin = 0.06 * max(high - low, 1e-12)
    return float(low - margin), float(high + margin)


def _colour_range(maps: list[Floats]) -> tuple[float, float]:
    """Common to all maps; symmetric about zero if the link changes sign, so that white is zero."""
    values = np.array(maps)
    axis = _map_axis()
    weights = np.broadcast_to(np.exp(-(axis[:, None] ** 2 + axis**2) / 2), values.shape)
    low, high = _range(values, weights)
    if values.min() >= 0 or values.max() <= 0:
        return low, high
    return -max(-low, high), max(-low, high)


def _map_axis() -> Floats:
    """An even number of points: none lies on a coordinate plane, where links jump."""
    return np.linspace(-REACH, REACH, 160)
