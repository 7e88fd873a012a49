# %% [markdown]
# # 4. Staircases
#
# A label that depends on several directions, $y=g(h_1,\dots,h_r)$ with $h_i=\langle w_i^*,x\rangle$, is a
# **multi-index model**. Now what has been found can help to find the rest. This chapter says exactly when, and gives
# the number that replaces the information exponent: the *leap*.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import featlab
from agreement import chance, in_the_limit, mean_and_error

SMALL = os.environ.get("FEATLAB_COURSE") == "small"

# %% [markdown]
# ## What a step finds once something is known
#
# Take giant steps as in chapter 3, on fresh batches of $n\sim d$ samples, with the correlation loss:
# $w\leftarrow w+\gamma\,\frac1n\sum y\,\sigma'(\langle w,x\rangle)\,x$. Suppose that neurons have overlaps of order
# one with a subspace $U$ of the target's directions, and write $z$ for the components of $x$ along the target's other
# directions. To leading order $\langle w,x\rangle$ does not contain $z$. So the step moves the neuron, within these
# directions, by
#
# $$ \gamma\,E[\,y\,\sigma'(\langle w,x\rangle)\,z\,]=\gamma\,E\big[\sigma'(\langle w,x\rangle)\;E[\,y\,z\mid
# h_U]\,\big]. $$
#
# It vanishes for all neurons unless the inner expectation does not. Hence a recursion (Dandi et al. 2023; on the cube:
# Abbe, Boix-Adsera, Misiakiewicz 2022), from $U_0=\{0\}$:
#
# $$ \boxed{\;U_{t+1}=U_t+\mathrm{span}\{\,E[\,y\,z\mid h_{U_t}=u]\;:\;u\,\}\;} $$
#
# For $y=h_1+h_1h_2$: $E[y\,h]=(1,0)$, so $U_1=\{h_1\}$. Then $E[y\,h_2\mid h_1]=h_1\neq0$: $U_2$ has both. The product
# $h_1h_2$ alone shows nothing to a first step; the linear term is the stair that leads up to it. For $y=h_1+h_2h_3$
# the second expectation is $E[h_2h_3\,h_2\mid h_1]=0$: the climb ends.


# %%
def giant_steps(text, dim, ratio, step, steps, seeds):
    """Overlaps of one relu neuron with the directions after each giant step on fresh samples, (steps + 1, r, seeds)."""
    link, r = featlab.target(text).link, featlab.target(text).rank
    overlaps = np.zeros((steps + 1, r, seeds))
    for seed in range(seeds):
        draw = np.random.default_rng([4, dim, seed])
        w = draw.standard_normal(dim)
        w[:r] = 0  # the directions are the first r axes, the neuron starts orthogonal to them
        w /= np.linalg.norm(w)
        for t in range(steps):
            X = draw.standard_normal((ratio * dim, dim))
            w = w + step * (link(X[:, :r]) * (X @ w > 0)) @ X / len(X)
            overlaps[t + 1, :, seed] = w[:r]
    return overlaps


TARGETS = {"h1 + h1*h2": 2, "h1 + h1*h2 + h2*h3": 3, "h1 + h2*h3": 1}  # with how many directions the recursion finds
dim, seeds, ratio, step, steps = (120, 200, 4, 2.0, 5) if SMALL else (600, 60, 4, 2.0, 5)
figure, panels = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
for text, axes in zip(TARGETS, panels, strict=True):
    runs = [giant_steps(text, d, ratio, step, steps, seeds) for d in (dim // 2, dim)]
    mean, error = mean_and_error(runs[1])
    r = mean.shape[-1]
    neuron = featlab.TwoLayer(activation="relu", start="orthogonal")
    learner = featlab.GiantSteps(steps, step, loss="correlation")
    theory = featlab.predict(text, learner, dim=dim, samples=ratio * dim, student=neuron)
    told, told_error = theory.overlap.values[:, 0], theory.overlap_error.values[:, 0]
    for k in range(r):
        axes.plot(told[:, k], f"C{k}")
        axes.errorbar(range(steps + 1), mean[:, k], 2 * error[:, k], fmt=f"C{k}o", label=f"h{k + 1}")
    axes.set(title=text, xlabel="giant steps", xticks=range(steps + 1))
    limit, limit_error = in_the_limit(*runs)
    allowed = chance(r * steps, seeds) * np.hypot(limit_error, told_error)  # averages of the theory have errors, too
    assert np.all(np.abs(limit - told) <= allowed), text
    assert np.any(np.abs(limit - 1.25 * told) > allowed), text
    print(f"{text:20} measured {limit[-1].round(2)} ± {limit_error[-1].round(2)}, told {told[-1].round(2)}")
    assert np.sum(np.abs(limit[-1]) > allowed[-1]) == TARGETS[text]
panels[0].set_ylabel("overlap")
panels[1].legend()
figure.tight_layout()

# %% [markdown]
# Points are runs, lines are `featlab.predict`. Stairs are climbed one a step. The recursion itself needs no data;
# `featlab.analyse` computes it by quadrature.

# %%
analysed = {text: featlab.analyse(featlab.target(text)) for text in TARGETS}
climbed = {text: [stage.directions.shape[1] for stage in found.giant_steps] for text, found in analysed.items()}
print("new directions, step by step:", climbed)
assert list(climbed.values()) == [[1, 1], [1, 1, 1], [1]]

# %% [markdown]
# ## Leaps
#
# What does not show at first order may show at a higher one, at a higher price. With $U$ known, let $k$ be the lowest
# order at which $T_k(u)=E[\,y\,\mathrm{He}_k(z)\mid h_U=u\,]$ is not zero; that is the information exponent of the
# *rest*. Add the directions that $T_k$ contains; go on. The largest order on the way is the **leap** $L$ of the
# target. One-pass SGD is conjectured to take $d^{\max(1,L-1)}$ samples (Abbe, Boix-Adsera, Misiakiewicz 2023), with
# $\log d$ at $L=2$: a saddle for each stage, and the highest leap is the longest wait.
#
# | target | stages | leap |
# |---|---|---|
# | $h_1+h_1h_2$ | $h_1$ at order 1, $h_2$ at order 1 | 1 |
# | $h_1+h_2h_3$ | $h_1$ at order 1, $\{h_2,h_3\}$ at order 2 | 2 |
# | $h_1h_2h_3$ | all at order 3 | 3 |
# | $\mathrm{He}_2(h_1)+\mathrm{sign}(h_1h_2h_3)$ | $h_1$ at order 2, $\{h_2,h_3\}$ at order 2 | 2 |
#
# In the last one a term that would cost order 3 by itself costs 2, because another term gives one of its directions
# away.

# %%
analysed["h1*h2"] = featlab.analyse(featlab.target("h1*h2"))
for text, found in analysed.items():
    print(f"{text:20} leap {found.leap}, orders {[stage.exponent for stage in found.staircase]}")
orders = {text: [stage.exponent for stage in found.staircase] for text, found in analysed.items()}
assert orders == {"h1 + h1*h2": [1, 1], "h1 + h1*h2 + h2*h3": [1, 1, 1], "h1 + h2*h3": [1, 2], "h1*h2": [2]}

# %% [markdown]
# ## What a leap costs
#
# One-pass SGD again, one relu neuron on the sphere, exact in law as in chapter 2: now four random numbers a step,
# $h_1$, $h_2$, the neuron's field off them, and the squared length of the rest. $h_1+h_1h_2$ has leap 1, so that the
# time to find $h_2$ should be $d$ times a constant. $h_1h_2$ has leap 2: near the start $\dot m_1=a\,m_2$,
# $\dot m_2=a\,m_1$, hence $m\sim e^{at}d^{-1/2}$ and a time that grows by $\frac{\log 4}{2a}$ whenever $d$ is made
# four times larger. With $\sigma=\mathrm{relu}$,
# $E[h_1h_2\,\sigma(\langle w,x\rangle)]=\frac{1}{\sqrt{2\pi}}m_1m_2+\dots$ and $C=E[y^2\sigma'^2]=\frac12$, so that
# $a=\delta/\sqrt{2\pi}-\delta^2/4$.


# %%
def time_to_second(linear, dims, delta, span, seeds, level=0.3):
    """The n/d at which |m_2| first exceeds the level for y = linear h1 + h1 h2, for each d and seed."""
    draw = np.random.default_rng(7)
    every = np.repeat(dims, seeds).astype(float)
    m = draw.standard_normal((2, every.size)) / np.sqrt(every)
    hit = np.full(every.size, np.inf)
    for t in range(int(span * max(dims))):
        if t % 250 == 0:
            fields = draw.standard_normal((250, 3, every.size))
            lengths = draw.chisquare(every - 3, (250, every.size))
        h, o = fields[t % 250, :2], fields[t % 250, 2]
        rest = np.sqrt(1 - (m**2).sum(0))
        own = (m * h).sum(0) + rest * o
        force = delta / every * (linear * h[0] + h[0] * h[1]) * (own > 0)
        off = (o**2 + (h**2).sum(0)) - own**2 + lengths[t % 250]  # the squared length of x off w
        m = (m + force * (h - own * m)) / np.sqrt(1 + force**2 * off)
        new = np.isinf(hit) & (np.abs(m[1]) > level)
        hit[new] = (t + 1) / every[new]
    return hit.reshape(len(dims), seeds)


dims, seeds, delta = ([50, 400], 300, 0.4) if SMALL else ([100, 400, 1600], 300, 0.4)
rate = delta / np.sqrt(2 * np.pi) - delta**2 / 4
figure, axes = plt.subplots(figsize=(6, 3.3))
slopes = {}
for text, linear, colour in (("h1 + h1*h2", 1, "C0"), ("h1*h2", 0, "C1")):
    hits = time_to_second(linear, dims, delta, 20 if linear else 50, seeds)
    median = np.median(hits, 1)
    error = np.diff(np.quantile(hits, 0.5 + np.array([-0.5, 0.5]) / seeds**0.5, axis=1), axis=0)[0] / 2
    axes.errorbar(dims, median, 2 * error, fmt=colour + "o-", label=text)
    slopes[text] = np.array([median[-1] - median[0], np.hypot(error[0], error[-1])]) / np.log(dims[-1] / dims[0])
    print(f"{text:12} n/d {median.round(1)}; per unit of log d {slopes[text][0]:.2f} ± {slopes[text][1]:.2f}")
axes.set(xscale="log", xlabel="d", ylabel="n/d until $|m_2|=0.3$", ylim=(0, None))
axes.legend()
figure.tight_layout()

slope, error = slopes["h1*h2"]
print(f"told for leap 2: {1 / (2 * rate):.2f}")
assert abs(slope - 1 / (2 * rate)) < chance(1, seeds) * error
assert slope > chance(1, seeds) * error  # no constant: leap 2 is told from leap 1
assert slopes["h1 + h1*h2"][0] < slope / 3

# %% [markdown]
# ## Exercises
#
# **1.** In the basis that a polynomial is written in, a leap can be found by counting: go through its monomials, and
# admit one when the degrees of the variables that are *new* sum up to at most $L$. The least $L$ that admits all is
# the coordinate leap (Abbe et al. 2023). Write it.


# %% tags=["solution"]
def coordinate_leap(monomials):
    """Monomials as dictionaries {variable: degree} of Hermite polynomials."""
    for leap in range(1, 20):
        known, waiting = set(), list(monomials)
        while True:
            entering = [one for one in waiting if sum(k for v, k in one.items() if v not in known) <= leap]
            if not entering:
                break
            known |= {v for one in entering for v in one}
            waiting = [one for one in waiting if one not in entering]
        if not waiting:
            return leap
    raise ValueError("a leap above 19")


cases = {
    "h1 + h1*h2 + h1*h2*h3": [{1: 1}, {1: 1, 2: 1}, {1: 1, 2: 1, 3: 1}],
    "h1 + h2 + h2*h3*h4": [{1: 1}, {2: 1}, {2: 1, 3: 1, 4: 1}],
    "He2(h1) + He2(h1)*He3(h2)": [{1: 2}, {1: 2, 2: 3}],
    "h1*h2*h3 + h2*h3*h4": [{1: 1, 2: 1, 3: 1}, {2: 1, 3: 1, 4: 1}],
}
leaps = {text: coordinate_leap(monomials) for text, monomials in cases.items()}
print(leaps)
assert list(leaps.values()) == [1, 2, 3, 3]
assert featlab.analyse(featlab.target("He2(h1) + He2(h1)*He3(h2)")).coordinate_leap == 3

# %% [markdown]
# **2.** $h_1+h_2+h_1h_2$ has coordinate leap 1. A network does not know your coordinates. Turn them by 45 degrees:
# what is the leap then, and what do giant steps on $n\sim d$ find?

# %% tags=["solution"]
# With u, v = (h1 ± h2)/sqrt(2): sqrt(2) u + (He2(u) - He2(v))/2. The linear part knows u; v shows at order 2 only,
# given u or not.
turned = featlab.analyse(featlab.target("h1 + h2 + h1*h2"))
print(turned.coordinate_leap, turned.leap, [stage.directions.T.round(3).tolist() for stage in turned.giant_steps])
assert (turned.coordinate_leap, turned.leap) == (1, 2)
assert len(turned.giant_steps) == 1
assert np.allclose(np.abs(turned.giant_steps[0].directions[:, 0]), 2**-0.5)

# %% [markdown]
# **3.** $h_1+h_1h_2+h_1h_2h_3$ has leap 1, and yet relu neurons *without biases* never find $h_3$ by giant steps. Why?
# Predict it with and without biases.

# %% tags=["solution"]
# E[sigma'(<w, x>) h1 h2] with sigma' a step at 0: it is 1/2 plus an odd function, and h1 h2 is even. The recursion says
# what some neuron can see; this neuron is not the one.
told = {}
for bias in (0.0, 1.0):
    neuron = featlab.TwoLayer(activation="relu", biases=bias, start="orthogonal")
    steps = featlab.GiantSteps(5, 2.0, loss="correlation")
    path = featlab.predict("h1 + h1*h2 + h1*h2*h3", steps, dim=10**4, samples=10**5, student=neuron)
    told[bias] = path.cosine.values[-1, 0], path.overlap_error.values[-1, 0, 2]
print({bias: cosines.round(3).tolist() for bias, (cosines, _) in told.items()})
assert abs(told[0.0][0][2]) < 1e-3
assert abs(told[1.0][0][2]) > 0.01 + 5 * told[1.0][1]

# %% [markdown]
# ## What is still open
#
# - That the leap gives the time of SGD is a conjecture, proved for some classes (on the cube, for products with leap
#   1, in the Gaussian case for a layerwise variant). Degenerate targets exist: on the cube $z_1+z_2+z_3+z_1z_2z_3$ has
#   leap 1, and its symmetry keeps networks from learning it.
# - How wide must the network be? Two directions that enter alike, as in $g(h_1)+g(h_2)$, are told apart by chance at
#   the start only.
# - With the squared loss neurons interact: what one has fitted, the others no longer see. The equations are known
#   (Saad, Solla 1995), their staircases are not.
#
# **Papers.** Abbe, Boix-Adsera, Misiakiewicz 2022 (2202.08658), 2023 (2302.11055). Dandi et al. 2023 (2305.18270).
# Arnaboldi et al. 2024 (2405.15459). In featlab: [how the analysis decides](../../how-the-analysis-decides.md). Next:
# [repetition](05_repetition.md).
