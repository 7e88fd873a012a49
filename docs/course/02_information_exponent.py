# %% [markdown]
# # 2. The information exponent and one-pass SGD
#
# One neuron, one pass over the data, one fresh sample for each step: the simplest learner that can find a direction.
# How many samples until it has? The answer is a single integer that can be read off the link.

# %%
import math
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import trapezoid

import featlab
from agreement import chance, in_the_limit
from featlab.gaussian import fit_power_law, hermite_all

SMALL = os.environ.get("FEATLAB_COURSE") == "small"

# %% [markdown]
# ## The equation of the overlap
#
# The neuron $\sigma(\langle w,x\rangle)$ lives on the sphere $|w|=1$ and climbs the correlation $y\,\sigma(h_w)$,
# $h_w=\langle w,x\rangle$:
#
# $$ \tilde w = w+\gamma\,y\,\sigma'(h_w)\,(x-h_w w),\qquad w\leftarrow \tilde w/|\tilde w| . $$
#
# All that matters is the overlap $m=\langle w,w_*\rangle$. Expand student and label in orthonormal Hermite polynomials
# $h_k=\mathrm{He}_k/\sqrt{k!}$, with coefficients $c_k$ and $c^*_k$. By the box of chapter 1
#
# $$ E[y\,\sigma(h_w)]=\sum_k c_kc_k^*\,m^k=:\zeta(m). $$
#
# A step moves $m$ by $\gamma\,(1-m^2)\,\zeta'(m)$ on average; the factor is the length that the sphere leaves of
# $w_*$. And it makes $w$ longer: $x-h_ww$ has length $\sqrt d$, so that
# $|\tilde w|^2\approx 1+\gamma^2d\,y^2\sigma'^2$, and to come back to the sphere costs $m$ a share
# $\frac12\gamma^2 d\,C$, $C(m)=E[y^2\sigma'(h_w)^2]$. With $\gamma=\delta/d$ and time in units of $d$ steps:
#
# $$ \boxed{\;\dot m=\delta\,(1-m^2)\,\zeta'(m)-\tfrac12\delta^2\,C(m)\,m\;} $$
#
# The start is a random direction, $m_0\sim d^{-1/2}$. There only the *first* non-zero term of $\zeta'$ counts,
# $\dot m\propto m^{k-1}$, and its index is the **information exponent** of the link (Ben Arous, Gheissari, Jagannath
# 2021):
#
# $$ k=\min\{j\ge1:\;E[g\,\mathrm{He}_j]\neq0\}. $$
#
# | $k$ | $\dot m=\kappa m^{k-1}$ from $d^{-1/2}$ to order one | samples |
# |---|---|---|
# | 1 | at once | $d$ |
# | 2 | $e^{\kappa t}\,d^{-1/2}$: a time $\log d$ | $d\log d$ |
# | $\ge3$ | $\dot m\propto m^{k-1}$: a time $d^{(k-2)/2}$, at $\gamma\sim d^{-k/2}$ to beat the noise | $d^{k-1}$ |
#
# The last row has two costs. Noise wins unless $\gamma d\lesssim m^{k-2}\sim d^{-(k-2)/2}$; at that step the search
# takes $1/(\gamma m_0^{k-2})=d^{k/2}\,d^{(k-2)/2}=d^{k-1}$ steps.
#
# ## A simulation without a vector
#
# Write $x=h_w w+o\,v+\dots$, where $v$ is the unit vector along the rest of $w_*$. Then
# $\langle w_*,x\rangle=m\,h_w+\sqrt{1-m^2}\,o$, and a step needs three random numbers: $h_w,o\sim N(0,1)$ and the
# squared length of all else, $\chi^2_{d-2}$. The loop below is *exact in law* at any $d$, and stores nothing of size
# $d$. (featlab's design `virtual` is this idea for every learner that has no preferred axes.)
#
# The student is $\tanh(h+\frac12)$, whose coefficients are all non-zero. The targets are $\pm h_k$, with the sign of
# the student's $c_k$: one that has the other sign cannot be fitted by that neuron.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(80)
weights = weights / weights.sum()


def normalised(k, z):
    return hermite_all(k, z)[k] / math.sqrt(math.factorial(k))


def student(h):
    return np.tanh(h + 0.5)


def slope(h):
    return 1 / np.cosh(h + 0.5) ** 2


c = np.array([weights @ (student(nodes) * normalised(k, nodes)) for k in range(6)])
print("coefficients of the student:", c.round(3))


def one_pass(k, m, dims, step, steps, seed, look=1):
    """The overlaps of many runs side by side, at every `look`-th step. All arguments but k, seed may be arrays."""
    draw, path = np.random.default_rng(seed), [m]
    for t in range(steps):
        if t % 500 == 0:
            fields = draw.standard_normal((500, 2, m.size))
            lengths = draw.chisquare(dims - 2, (500, m.size))
        (h, o), length = fields[t % 500], lengths[t % 500]
        rest = np.sqrt(1 - m * m)
        force = step * np.sign(c[k]) * normalised(k, m * h + rest * o) * slope(h)
        m = (m + force * rest * o) / np.sqrt(1 + force**2 * (o * o + length))
        if (t + 1) % look == 0:
            path.append(m)
    return np.array(path)


def random_start(dims, seed):
    """The overlap of a uniform direction with a fixed one."""
    draw = np.random.default_rng(seed)
    z = draw.standard_normal(dims.size)
    return z / np.sqrt(z**2 + draw.chisquare(dims - 1))


# %% [markdown]
# The equation is integrated by Euler's rule; $C(m)$ is a double integral. `featlab.predict` solves the same equation
# by other means: the two must agree, and runs must agree with both.
#
# How close must runs be? The overlap of a run fluctuates by something of order $d^{-1/2}$ around the solution. In the
# mean over runs that cancels to first order; the second order, squares of fluctuations, leaves a bias $b/d$. So runs at
# $d/2$ and at $d$ give a number without it, $2\bar m_d-\bar m_{d/2}$, and only its standard error is left to allow for:
# `in_the_limit` of `docs/course/agreement.py`, with the `chance` of chapter 1. All chapters keep to this rule.

# %%
first, other = np.meshgrid(nodes, nodes, indexing="ij")
both = np.outer(weights, weights)


def speed(k, m, step, dim):
    """dm per step."""
    label = normalised(k, m * first + np.sqrt(1 - m * m) * other)
    noise = (both * (label * slope(first)) ** 2).sum()
    return step * (1 - m * m) * k * abs(c[k]) * m ** (k - 1) - 0.5 * step**2 * dim * noise * m


def solved(k, m, delta, times, pieces=40):
    path = [m]
    for length in np.diff(times):
        for _ in range(pieces):
            m = m + length / pieces * speed(k, m, delta, 1.0)
        path.append(m)
    return np.array(path)


dim, seeds, delta = (400, 200, 0.5) if SMALL else (2000, 200, 0.5)
times = np.arange(0, 9)
start = np.full(seeds, 0.2)
runs = [one_pass(2, start, np.full(seeds, d), delta / d, 8 * d, seed=d, look=d)[1:] for d in (dim // 2, dim)]
mine, finer = solved(2, 0.2, delta, times), solved(2, 0.2, delta, times, pieces=80)
neuron = featlab.TwoLayer(activation="tanh", biases=0.5, start="planted", planted=((0.2,),))
learner = featlab.OnlineSgd(featlab.StepLaw(delta, 1), loss="correlation", constraint="spherical")
theirs = featlab.predict("-He2(h1)/sqrt(2)", learner, dim=dim, times=times, student=neuron).overlap.values[:, 0, 0]
# Euler's error is halved by half the step: twice what the half changes is all of it, up to second order.
assert np.all(np.abs(mine - theirs) <= 2.1 * np.abs(mine - finer) + 1e-6)

mean, error = in_the_limit(*runs)
allowed = chance(len(mean), seeds)
print(f"standard errors apart: {(np.abs(mean - theirs[1:]) / error).round(1)}, allowed {allowed:.1f}")
assert np.all(np.abs(mean - theirs[1:]) < allowed * error)
without_noise = 0.2 * np.exp(2 * abs(c[2]) * delta * times[1:])  # the equation without its second term must fail
assert np.abs(mean - without_noise)[-1] > allowed * error[-1]

# %% [markdown]
# ## Three links, one budget
#
# The same neuron, the same number of samples, three links of information exponent 1, 2, 3.

# %%
dim, seeds, span = (300, 12, 15) if SMALL else (1000, 20, 45)
figure, panels = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
ended = {}
for k, axes in zip((1, 2, 3), panels, strict=True):
    sizes = np.full(seeds, dim)
    paths = np.abs(one_pass(k, random_start(sizes, k), sizes, 0.5 / dim, span * dim, seed=k, look=dim // 4))
    ended[k] = np.median(paths[-1])
    axes.plot(np.linspace(0, span, len(paths)), paths, "C0", lw=0.6)
    axes.axhline(dim**-0.5, color="0.6", ls=":")
    axes.set(title=f"information exponent {k}", xlabel="n/d", ylim=(0, 1))
panels[0].set_ylabel("|m|")
figure.tight_layout()
print({k: round(float(value), 3) for k, value in ended.items()})
assert ended[1] > 0.6
assert ended[3] < 5 / dim**0.5

# %% [markdown]
# The first learns at once, the second hesitates, the third has not begun. How long would it take? We start all runs at
# $m_0=2d^{-1/2}$, take $\gamma=\delta\,d^{-\max(1,k/2)}$ with $\delta$ a fraction of the largest one that the noise
# allows, and count steps to $|m|=\frac12$. The yardstick is the integral of $1/\dot m$: for small $d$ it is not yet a
# pure power, and neither are the runs.


# %%
def steps_to_half(k, dims, seeds, seed):
    """Median number of steps, its standard error (of the logarithm), and what the equation takes."""
    scale = 0.5 if k == 1 else {2: 0.25, 3: 0.3}[k] * 2 * k * abs(c[k]) / (weights @ slope(nodes) ** 2)
    step = scale * dims ** -max(1, k / 2)
    grids = [np.geomspace(2 * d**-0.5, 0.5, 60) for d in dims]
    law = np.array(
        [trapezoid([1 / speed(k, m, s, d) for m in grid], grid) for grid, s, d in zip(grids, step, dims, strict=True)]
    )
    look, every = int(law.min() / 50) + 1, np.repeat(dims, seeds)
    path = one_pass(k, 2 * every**-0.5, every, np.repeat(step, seeds), int(2 * law.max()), seed, look)
    above = np.abs(path) > 0.5
    hit = np.where(above.any(0), look * above.argmax(0), np.inf).reshape(len(dims), seeds)
    levels = 0.5 + np.array([-0.5, 0, 0.5]) / seeds**0.5  # one standard error of a median, on either side
    low, median, high = np.quantile(hit, levels, axis=1, method="inverted_cdf")
    return median, np.log(high / low) / 2, law


ladders = {1: [50, 100, 200], 2: [50, 100, 200], 3: [32, 64, 128]}
if not SMALL:
    ladders = {1: [100, 200, 400, 800], 2: [100, 200, 400, 800], 3: [90, 180, 360]}
figure, axes = plt.subplots(figsize=(6, 3.6))
for k, ladder in ladders.items():
    dims = np.array(ladder, dtype=float)
    median, error, law = steps_to_half(k, dims, 40, seed=k)
    axes.errorbar(dims, median, 2 * error * median, fmt=f"C{k}o", label=f"k = {k}")
    axes.plot(dims, law * np.median(median / law), f"C{k}--")
    ratio = fit_power_law(dims, median / law, error)
    runs, equation = (fit_power_law(dims, values, error).exponent for values in (median, law))
    print(f"k = {k}: steps ~ d^{runs:.2f}, equation d^{equation:.2f}", end="; ")
    print(f"apart by d^({ratio.exponent:.2f} ± {ratio.exponent_error:.2f})")
    assert abs(ratio.exponent) < chance(len(ladders), 40) * ratio.exponent_error
axes.set(xscale="log", yscale="log", xlabel="d", ylabel="steps until |m| = 1/2")
axes.legend()
figure.tight_layout()

# %% [markdown]
# The slopes lie a little above $1$, $1$ with a logarithm, and $2$, for the runs *and* for the equation: from
# $2/\sqrt d$ to $\frac12$ is a short way at such $d$. That is why they are compared with the equation, whose limit is
# known, and not with the limit.
#
# Correlations with the label need at least $d^{\max(1,k/2)}$ samples whatever one does with them (Damian, Lee,
# Soltanolkotabi 2022; Abbe et al. 2023); smoothing the landscape reaches that (Damian et al. 2023). Chapter 5 leaves
# this class of algorithms.
#
# ## Exercises
#
# **1.** Find the information exponents of $\mathrm{relu}(h)$, $|h|$, $\cos 2h$, $\mathrm{He}_2(h)^2$ and $h^3-3h$ by
# hand. Check them.

# %% tags=["solution"]
# relu and h^3 - 3h = He3: 1 and 3. Even links have no odd degrees: 2 or more. E[He2^3] = 8, so He2^2 has degree 2.
# E[cos(a z) He_2k(z)] = (-1)^k a^2k exp(-a^2/2) by the generating function at t = i a: never 0 for even degrees.
answers = {"relu(h1)": 1, "abs(h1)": 2, "cos(2*h1)": 2, "He2(h1)**2": 2, "h1**3 - 3*h1": 3}
for text, answer in answers.items():
    assert featlab.analyse(featlab.target(text)).information_exponent == answer

# %% [markdown]
# **2.** For $k=2$ near $m=0$ the box reads $\dot m=(2\delta|c_2|-\frac12\delta^2C)\,m$. Which $\delta$ is fastest,
# which is the largest that learns at all? Check the second by runs on either side of it.

# %% tags=["solution"]
# A parabola in delta: the zero is at delta = 4 |c_2| / C, the fastest is half of it. C(0) = E[y^2] E[sigma'^2].
largest = 4 * abs(c[2]) / (weights @ slope(nodes) ** 2)
sizes = np.full(20, 400)
ends = {}
for share in (0.5, 2.0):
    path = one_pass(2, np.full(20, 0.2), sizes, share * largest / 400, 30 * 400, seed=5, look=400)
    ends[share] = np.sqrt(np.mean(path[-10:] ** 2))
print({share: round(float(end), 3) for share, end in ends.items()})
assert ends[0.5] > 0.3
assert ends[2.0] < 0.2

# %% [markdown]
# **3.** With a batch of $b$ samples in each step the noise term is divided by $b$. Which $b$ and which number of steps
# find $\mathrm{He}_3$ with the same $n\sim d^2$ samples, and how few steps can it be?

# %% tags=["solution"]
# The step may be b times as large until it is of order one on the signal's own scale: steps ~ d^(k-1)/b, samples the
# same. At m ~ d^(-1/2) the drift gamma m^(k-1) may at most be of the order of m: gamma <= d^((k-2)/2), so at least
# (1/gamma) m^-(k-2) ~ 1 step, with b ~ d^(k-1): up to logarithms a handful of steps on d^2 samples each.
batched = featlab.OnlineSgd(featlab.StepLaw(0.5 * 50, 1.5), loss="correlation", constraint="spherical", batch=50)
neuron = featlab.TwoLayer(activation="tanh", biases=0.5, start="planted", planted=((0.2,),))
single = featlab.OnlineSgd(featlab.StepLaw(0.5, 1.5), loss="correlation", constraint="spherical")
few = featlab.predict("-He3(h1)/sqrt(6)", batched, dim=10**4, times=[0, 20], student=neuron)
many = featlab.predict("-He3(h1)/sqrt(6)", single, dim=10**4, times=[0, 1000], student=neuron)
print(
    f"overlap after 20 d steps of 50 samples {float(few.overlap[-1, 0, 0]):.4f}, "
    f"after 1000 d steps of one {float(many.overlap[-1, 0, 0]):.4f}"
)
assert abs(float(few.overlap[-1, 0, 0] / many.overlap[-1, 0, 0]) - 1) < 1e-3  # 50 times fewer steps, the same samples

# %% [markdown]
# ## What is still open
#
# - The upper bound $d^{k-1}$ and the lower bound $d^{k/2}$ for correlations are both sharp, for different algorithms.
#   Which of the two a *trained network* of many neurons with biases and all its layers moving obeys is known in
#   special cases only.
# - The noise of one-pass SGD is not a nuisance alone: for $k\ge3$ it moves $m$ by as much as its start does. The
#   constant in front of $d^{k-1}$ is not known.
# - Inputs that are not Gaussian have no Hermite expansion. For rotation-invariant laws and products there are results;
#   the exponent need not survive.
#
# **Papers.** Ben Arous, Gheissari, Jagannath 2021 (2003.10409). Damian, Lee, Soltanolkotabi 2022 (2206.15144). Damian,
# Nichani, Ge, Lee 2023 (2305.10633). In featlab: [simulating](../../simulating.md), [predicting](../../predicting.md).
# Next: [one giant step](03_one_giant_step.md).
