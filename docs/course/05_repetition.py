# %% [markdown]
# # 5. Repetition and the generative exponent
#
# For $y=\mathrm{He}_3(h)$ the label is uncorrelated with everything of degree 1 and 2, and one-pass SGD needs $d^2$
# samples. Everybody who trains networks goes through the data more than once. Does that change the exponent? It does,
# and the reason is simple: a second look at a sample is a look at a *function* of its label.

# %%
import math
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

import featlab
from agreement import chance, in_the_limit, mean_and_error

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(5)

# %% [markdown]
# ## Functions of the label
#
# Nothing forces us to correlate $x$ with $y$. Take $T(y)$. Its information exponent may be lower; the lowest that can
# be had is the **generative exponent** $k^*$ (Damian et al. 2024). Since
#
# $$ E[T(y)\,h_k(z)]=E\big[T(y)\;E[h_k(z)\mid y]\big]\le \|T\|\,\lambda_k,\qquad \lambda_k^2=E_y\big[E[h_k(z)\mid
# y]^2\big], $$
#
# with equality for $T=E[h_k\mid y]$, we have $k^*=\min\{k\ge1:\lambda_k\ne0\}$: *the lowest Hermite degree of $z$ that
# anything about $y$ tells*. For a link without noise, $y$ leaves a few values $z_i$ possible, the roots of $g(z_i)=y$,
# with weights
#
# $$ P(z_i\mid y)\propto \varphi(z_i)/|g'(z_i)| . $$
#
# For $\mathrm{He}_3$, $z^3-3z=y$ has the one root $z$ if $|y|>2$, and else three,
# $2\cos(\frac13\arccos\frac y2+\frac{2\pi i}3)$.


# %%
def mean_given_label(z):
    """E[z | y] at y = He3(z)."""
    y = z**3 - 3 * z
    inside = np.abs(y) < 2
    angle = np.arccos(np.where(inside, y, 0.0) / 2) / 3
    roots = 2 * np.cos(angle + 2 * np.pi * np.arange(3)[:, None] / 3)
    likely = np.exp(-(roots**2) / 2) / np.abs(3 * roots**2 - 3)
    return np.where(inside, (likely * roots).sum(0) / likely.sum(0), z)


grid = np.linspace(-9, 9, 400_001) + 1e-7  # off the two points where y = ±2
density = np.exp(-(grid**2) / 2)
density /= density.sum()
best = mean_given_label(grid)
strength = density @ best**2  # lambda_1^2
print(f"lambda_1^2 = {strength:.3f}; E[y z] = {density @ ((grid**3 - 3 * grid) * grid):.1e}")
assert np.isclose(density @ (best * grid), strength)  # E[T z] = E[T^2]: T is a projection of z


def from_samples(link, function, slices=10_000, each=4):
    """E_y[E[function(z) | y]^2] without formulas: means over samples of nearly equal labels, less the noise of means.

    Slices are many and thin, since E[z | y] jumps where roots appear: 200 slices would miss 3% of it.
    """
    z = draw.standard_normal(slices * each)
    values = function(z[np.argsort(link(z))]).reshape(slices, each)
    return np.mean(values.mean(1) ** 2 - values.var(1, ddof=1) / each)


by_slices, error = mean_and_error([from_samples(lambda z: z**3 - 3 * z, lambda z: z) for _ in range(20)])
print(f"from 20 times 40,000 samples: {by_slices:.3f} ± {error:.3f}")
assert abs(by_slices - strength) < chance(1, 20) * error

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
z = np.linspace(-3, 3, 1201) + 1e-6
left.plot(z, z**3 - 3 * z, "C0")
left.axhline(1, color="0.7", lw=0.8)
left.set(xlabel="z", ylabel="y", ylim=(-6, 6), title="one label, three inputs")
y, told = np.sort(z**3 - 3 * z), mean_given_label(z)[np.argsort(z**3 - 3 * z)]
right.plot(y, told, "C3")
right.set(xlabel="y", ylabel="E[z | y]", xlim=(-6, 6), title="what a label says of z")
figure.tight_layout()

# %% [markdown]
# A label says a lot about $z$, and $E[z\mid y]$ is far from zero and not a multiple of $y$. So $k^*=1$ where the
# information exponent is 3.
#
# ## The simplest use of it
#
# Estimate $w_*$ by $\hat w=\frac1n\sum_j T(y_j)\,x_j$. Its mean is $E[Tz]\,w_*$, its noise has the squared length
# $E[T^2]\,d/n$. With $T=E[z\mid y]$ and $\alpha=n/d$
#
# $$ \boxed{\;\cos^2(\hat
# w,w_*)=\frac{\lambda_1^4}{\lambda_1^4+\lambda_1^2/\alpha}=\frac{\alpha\lambda_1^2}{1+\alpha\lambda_1^2}\;} $$
#
# which is not small as soon as $n\sim d$. With $T(y)=y$ the mean is zero. The noise is larger along $w_*$, by
# $E[y^2z^2]/E[y^2]=7$, so that chance alone gives a squared cosine of $7/d$.


# %%
def squared_cosines(dim, ratios, seeds):
    """For T(y) = E[z | y] and T(y) = y: (2, ratio, seed)."""
    found = np.empty((2, len(ratios), seeds))
    for i, ratio in enumerate(ratios):
        for seed in range(seeds):
            X = draw.standard_normal((int(ratio * dim), dim))
            for which, transformed in enumerate((mean_given_label(X[:, 0]), X[:, 0] ** 3 - 3 * X[:, 0])):
                estimate = transformed @ X
                found[which, i, seed] = estimate[0] ** 2 / (estimate @ estimate)
    return found


dim, seeds = (160, 40) if SMALL else (1000, 24)
ratios = np.array([0.5, 1, 2, 4, 8])
runs = [squared_cosines(d, ratios, seeds) for d in (dim // 2, dim)]
law = ratios * strength / (1 + ratios * strength)

figure, axes = plt.subplots(figsize=(6, 3.3))
fine = np.linspace(0, 8.5, 100)
axes.plot(fine, fine * strength / (1 + fine * strength), "C3")
names = ("T(y) = E[z | y]", "T(y) = y")
for name, colour, mean, error in zip(names, ("C3", "C0"), *mean_and_error(runs[1]), strict=True):
    axes.errorbar(ratios, mean, 2 * error, fmt=colour + "o", label=name)
axes.set(xlabel="n/d", ylabel="squared cosine", ylim=(0, 1))
axes.legend()
figure.tight_layout()

limit, error = in_the_limit(*runs)
allowed = chance(len(ratios), seeds) * error
print("standard errors from the law:", ((limit[0] - law) / error[0]).round(1))
assert np.all(np.abs(limit[0] - law) < allowed[0])
assert np.any(np.abs(limit[0] - ratios * strength / (1.2 + ratios * strength)) > allowed[0])
assert np.all(np.abs(limit[1]) < allowed[1])  # 7/d and nothing that stays

# %% [markdown]
# ## Why a second step does it by itself
#
# Gradient steps on one batch of $n=\alpha d$ samples (Dandi et al. 2024). After the first step a sample's own field
# has changed by
#
# $$ \langle \Delta w,x_j\rangle=\frac\gamma
# n\,y_j\,\sigma'(h_j)\,|x_j|^2+\dots=\frac\gamma\alpha\,y_j\,\sigma'(h_j)+\dots $$
#
# because $|x_j|^2/n=d/n$: *the network remembers each sample a little*. The second gradient has
# $y_j\,\sigma'\!\big(h_j+\tfrac\gamma\alpha y_j\sigma'(h_j)+\dots\big)$ in it, a non-linear function of $y_j$ that
# nobody had to design. If $\lambda_1\neq0$ it has, in general, a linear Hermite part: the overlap is of order one
# after two steps on $n\sim d$ samples. With a fresh batch the dots are all there is, and the second step sees $y$
# itself.


# %%
def two_steps(dim, ratio, step, reuse, seed):
    """The overlap after two steps of a relu neuron that starts orthogonal to w_*, on He3(h)."""
    draw = np.random.default_rng([55, dim, seed])
    w = draw.standard_normal(dim)
    w[0] = 0
    w /= np.linalg.norm(w)
    X = draw.standard_normal((ratio * dim, dim))
    for t in range(2):
        if t and not reuse:
            X = draw.standard_normal(X.shape)
        field, y = X @ w, X[:, 0] ** 3 - 3 * X[:, 0]
        w = w + step * ((y - np.maximum(field, 0)) * (field > 0)) @ X / len(X)
    return w[0]


dim, seeds, ratio, step = (100, 1500, 3, 0.3) if SMALL else (300, 1500, 3, 0.3)
told = featlab.predict(
    "He3(h1)",
    featlab.ReusedBatch(2, step),
    dim=dim,
    samples=ratio * dim,
    student=featlab.TwoLayer(start="orthogonal"),
).overlap.values[-1, 0, 0]
overlaps = {}
for name, reuse in (("reused", True), ("fresh", False)):
    runs = [[two_steps(d, ratio, step, reuse, seed) for seed in range(seeds)] for d in (dim // 2, dim)]
    overlaps[name] = in_the_limit(*runs)
    print(f"{name:7} {overlaps[name][0]:.4f} ± {overlaps[name][1]:.4f}")
print(f"theory  {told:.4f} (reused), 0 (fresh)")
allowed = chance(2, seeds)
mean, error = overlaps["reused"]
assert abs(mean - told) < allowed * error < abs(mean)  # it agrees, and nothing would not
mean, error = overlaps["fresh"]
assert abs(mean) < allowed * error

# %% [markdown]
# The sign is negative: samples with a very negative label are switched off by the first step. The overlap is small but
# does not shrink as $d$ grows, and later steps build on it.
#
# One sample at a time, an inner step $\rho/d$ on the same sample before each step does the same (*extragradient*,
# Arnaboldi et al. 2024): here are its equation and that of plain SGD, both started at $m=0.02$.

# %%
neuron = featlab.TwoLayer(activation="tanh", biases=0.5, start="planted", planted=((0.02,),))
how = {"loss": "correlation", "constraint": "spherical"}
plain = featlab.OnlineSgd(featlab.StepLaw(0.1, 1), **how)
extra = featlab.Extragradient(featlab.StepLaw(0.1, 1), featlab.StepLaw(0.3, 1), **how)
times = np.linspace(0, 80, 9)
figure, axes = plt.subplots(figsize=(6, 3))
ends = {}
for name, learner in (("one-pass SGD", plain), ("extragradient", extra)):
    path = featlab.predict("He3(h1)", learner, dim=10**4, times=times, student=neuron).overlap.values[:, 0, 0]
    ends[name] = abs(path[-1])
    axes.plot(times, np.abs(path), label=name)
axes.set(xlabel="n/d", ylabel="|m|", ylim=(0, 1))
axes.legend()
figure.tight_layout()
assert ends["extragradient"] > 0.5 > 0.05 > ends["one-pass SGD"]

# %% [markdown]
# ## How low can it get?
#
# | link | information exponent | generative exponent |
# |---|---|---|
# | a polynomial that is not even | any $k$ | 1 |
# | an even polynomial | any even $k$ | 2 |
# | $z^2e^{-z^2}$ | 4 | 4 |
#
# With $k^*\le2$ a number of samples of order $d$ (times $\log d$) suffices to start. For $k^*\ge3$ statistical queries
# and low-degree polynomials need $d^{k^*/2}$, and there is an algorithm that reaches it (Damian et al. 2024).
#
# ## The grand staircase
#
# Now both ideas together: what has been found helps (chapter 4), and so does every function of the label. From
# $n\sim d$ samples one sees what shows at order 1 or 2. With $U$ known and $z$ the components along the rest
# (Troiani et al. 2024):
#
# $$ \boxed{\;U_{t+1}=U_t+\mathrm{span}\{\,E[z\mid y,h_{U_t}],\;E[zz^{\mathsf T}-I\mid y,h_{U_t}]\,\}\;} $$
#
# Climb it for $y=\mathrm{He}_4(h_1)+\mathrm{sign}(h_1h_2h_3)$. To correlations with $y$ the lowest order is 3, that of
# the sign, which has all three directions: leap 3, $d^2$ samples. But $y$ tells much of $h_1^2$, since
# $\mathrm{He}_4$ is even: the first stair is $h_1$, at order 2. Once it is known, so is
# $T=\mathrm{sign}(h_1)\,(y-\mathrm{He}_4(h_1))=\mathrm{sign}(h_2h_3)$, and
# $E[h_2h_3\mid y,h_1]=\frac2\pi T$: the second stair, at order 2 again. All is found from $n\sim d$ samples. Below, the
# second stair: the matrix $\frac1n\sum_jT_j\,x_jx_j^{\mathsf T}$ has the mean $\frac2\pi$ along
# $(w_2^*+w_3^*)/\sqrt2$, and with $y$ in place of $T$ the mean 0.

# %%
dim, ratio, seeds = (100, 8, 12) if SMALL else (400, 8, 12)
names = ("with h1 known", "from y alone")
quadratic, cosine = np.empty((2, len(names), seeds))
for seed in range(seeds):
    X = draw.standard_normal((ratio * dim, dim))
    h1, product = X[:, 0], X[:, :3].prod(1)
    fourth = h1**4 - 6 * h1**2 + 3
    y = fourth + np.sign(product)
    off = X[:, 1:]  # h1 is known: we look in what is orthogonal to it
    for which, T in enumerate((np.sign(h1) * (y - fourth), y - y.mean())):
        matrix = (off * T[:, None]).T @ off / len(off)
        along = np.zeros(dim - 1)
        along[:2] = 2**-0.5  # where h2 and h3 enter alike
        quadratic[which, seed] = along @ matrix @ along
        cosine[which, seed] = (np.linalg.eigh(matrix)[1][:, -1] @ along) ** 2
for name, mean, error, share in zip(names, *mean_and_error(quadratic), cosine.mean(1), strict=True):
    print(f"{name:14} mean along it {mean:.3f} ± {error:.3f}; squared cosine of the top eigenvector {share:.2f}")
mean, error = mean_and_error(quadratic)
assert np.all(np.abs(mean - [2 / np.pi, 0]) < chance(2, seeds) * error)
assert abs(mean[0]) > chance(2, seeds) * error[0]
assert cosine[0].min() > chi2.isf(0.01 / seeds, 1) / dim  # more than chance gives to any of the runs

# %%
text = "He3(h1) + He2(h1)*h2" if SMALL else "He4(h1) + sign(h1*h2*h3)"
found = featlab.analyse(featlab.target(text))
print(f"{text}: leap {found.leap}; grand staircase {[(str(s.kind), s.exponent) for s in found.grand_staircase]}")
assert found.generative_exponent < found.leap

# %% [markdown]
# ## Exercises
#
# **1.** Compute $\lambda_2^2$ of $\mathrm{He}_4$, from $z^4-6z^2+3=y$. (By symmetry $\lambda_1=0$.)

# %% tags=["solution"]
# With u = z^2: (u - 3)^2 = y + 6, so u = 3 ± s, s = |z^2 - 3|; the second root exists if s < 3. Both signs of z are
# equally likely.
s = np.abs(grid**2 - 3)
roots = np.array([3 + s, np.where(s < 3, 3 - s, np.nan)])
likely = np.exp(-roots / 2) / np.sqrt(roots)  # |g'(z)| = 4 sqrt(u) |u - 3|, and |u - 3| = s is common to both
second = np.nansum(likely * (roots - 1), 0) / np.nansum(likely, 0) / math.sqrt(2)
mean, error = mean_and_error(
    [from_samples(lambda z: z**4 - 6 * z**2 + 3, lambda z: (z**2 - 1) / math.sqrt(2)) for _ in range(20)]
)
print(f"lambda_2^2 = {density @ second**2:.3f}; from samples {mean:.3f} ± {error:.3f}")
assert abs(density @ second**2 - mean) < chance(1, 20) * error

# %% [markdown]
# **2.** Show that $z^2e^{-z^2}$ has $\lambda_2=0$. Check the exponents with `featlab.analyse`.

# %% tags=["solution"]
# u = z^2 solves u e^-u = y: two roots, u_1 < 1 < u_2. Their weights u^(-1/2) e^(-u/2) / (|1 - u| e^-u) = y^(-1/2) / |1
# - u| are in the ratio 1/(1 - u_1) : 1/(u_2 - 1), so that E[u - 1 | y] is proportional to -1 + 1 = 0. The next even
# order is 4.
found = featlab.analyse(featlab.target("h1**2*exp(-h1**2)"))
assert (found.information_exponent, found.generative_exponent) == (4, 4)

# %% [markdown]
# **3.** Two steps on one batch do nothing for $y=\mathrm{He}_4(h)$ from an orthogonal start, although $k^*=2$. Why,
# and what would you try?

# %% tags=["solution"]
# E[z | y] = 0: whatever function of y the second step makes, it has no linear part. Order 2 multiplies an overlap that
# is there: it grows by a factor at each pass, from d^(-1/2) in about log d passes; or one uses the matrix mean(T(y) x
# x^T), as in the next chapter.
quiet = featlab.predict(
    "He4(h1)",
    featlab.ReusedBatch(2, 0.1),
    dim=10**4,
    samples=3 * 10**4,
    student=featlab.TwoLayer(activation="tanh", biases=0.5, start="orthogonal"),
)
print(f"overlap {quiet.overlap.values[-1, 0, 0]:.1e}")
assert abs(quiet.overlap.values[-1, 0, 0]) < 1e-4

# %% [markdown]
# ## What is still open
#
# - Two steps on one batch have an exact theory (dynamical mean field), many steps one that is exact and too expensive;
#   what a network knows after hundreds of epochs on $n\sim d$ samples is known by simulation.
# - That $d^{k^*/2}$ cannot be beaten is proved for statistical queries and low-degree polynomials, not for all
#   algorithms that run in polynomial time; lattice methods do beat it for noiseless labels of some links. With noise
#   in the label it is believed.
# - Which function of the label does Adam see, or a network with batch normalisation?
#
# **Papers.** Damian, Pillaud-Vivien, Lee, Bruna 2024 (2403.05529). Dandi et al. 2024 (2402.03220). Lee, Oko, Suzuki,
# Wu 2024 (2406.01581). Arnaboldi et al. 2024 (2405.15459). Troiani et al. 2024 (2405.15480). In featlab:
# `featlab.ReusedBatch`, `featlab.Extragradient` ([simulating](../../simulating.md)). Next:
# [the best that can be done](06_message_passing.md).
