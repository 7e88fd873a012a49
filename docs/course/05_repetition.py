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

import featlab

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
assert abs(strength - 0.668) < 1e-3  # by binning four million samples: 0.668
assert np.isclose(density @ (best * grid), strength)  # E[T z] = E[T^2]: T is a projection of z

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
# which is not small as soon as $n\sim d$.

# %%
dim, seeds = (200, 12) if SMALL else (1000, 12)
ratios = np.array([0.5, 1, 2, 4, 8])
cosines = {"T(y) = E[z | y]": [], "T(y) = y": []}
for ratio in ratios:
    found = np.empty((seeds, 2))
    for seed in range(seeds):
        X = draw.standard_normal((int(ratio * dim), dim))
        for which, transformed in enumerate((mean_given_label(X[:, 0]), X[:, 0] ** 3 - 3 * X[:, 0])):
            estimate = transformed @ X
            found[seed, which] = estimate[0] ** 2 / (estimate @ estimate)
    for values, column in zip(cosines.values(), found.T, strict=True):
        values.append((column.mean(), column.std(ddof=1) / np.sqrt(seeds)))

figure, axes = plt.subplots(figsize=(6, 3.3))
fine = np.linspace(0, 8.5, 100)
axes.plot(fine, fine * strength / (1 + fine * strength), "C3")
for (name, values), colour in zip(cosines.items(), ("C3", "C0"), strict=True):
    mean, error = np.transpose(values)
    axes.errorbar(ratios, mean, 2 * error, fmt=colour + "o", label=name)
axes.set(xlabel="n/d", ylabel="squared cosine", ylim=(0, 1))
axes.legend()
figure.tight_layout()

mean, error = np.transpose(cosines["T(y) = E[z | y]"])
law = ratios * strength / (1 + ratios * strength)
assert np.all(np.abs(mean - law) < 4 * error + 2 / dim)
wrong = ratios * strength / (1.2 + ratios * strength)
assert np.any(np.abs(mean - wrong) > 4 * error + 2 / dim)
mean, error = np.transpose(cosines["T(y) = y"])
assert np.all(mean < 4 * error + 10 / dim)  # heavy tails of y; its law is 0 + O(1/d)

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
    draw = np.random.default_rng([55, seed])
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


dim, seeds, ratio, step = (100, 1000, 3, 0.3) if SMALL else (300, 600, 3, 0.3)
told = featlab.predict(
    "He3(h1)",
    featlab.ReusedBatch(2, step),
    dim=dim,
    samples=ratio * dim,
    student=featlab.TwoLayer(start="orthogonal"),
).overlap.values[-1, 0, 0]
overlaps = {}
for name, reuse in (("reused", True), ("fresh", False)):
    values = np.array([two_steps(dim, ratio, step, reuse, seed) for seed in range(seeds)])
    overlaps[name] = values.mean(), values.std(ddof=1) / np.sqrt(seeds)
    print(f"{name:7} {overlaps[name][0]:.4f} ± {overlaps[name][1]:.4f}")
print(f"theory  {told:.4f} (reused), 0 (fresh)")
mean, error = overlaps["reused"]
assert abs(mean - told) < 4 * error + abs(told) / dim**0.5
assert abs(mean) > 4 * error
assert abs(overlaps["fresh"][0]) < 4 * overlaps["fresh"][1]

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
# and low-degree polynomials need $d^{k^*/2}$, and there is an algorithm that reaches it (Damian et al. 2024). Several
# directions have a *grand staircase*: chapter 4's recursion with $E[\,\cdot\mid y,h_U]$ in place of
# $E[\,y\,\cdot\mid h_U]$.

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
print(f"lambda_2^2 = {density @ second**2:.3f}")
assert abs(density @ second**2 - 0.775) < 2e-3  # by binning four million samples: 0.775

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
print(quiet.attrs["outcome"], quiet.overlap.values[-1, 0, 0])
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
# Wu 2024 (2406.01581). Arnaboldi et al. 2024 (2405.15459). In featlab: `featlab.ReusedBatch`, `featlab.Extragradient`
# ([simulating](../../simulating.md)). Next: [the best that can be done](06_message_passing.md).
