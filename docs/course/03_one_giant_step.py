# %% [markdown]
# # 3. One giant step and its spike
#
# A network trains all its neurons at once, on a batch. Take the very first gradient step, on $n\sim d$ samples, with a
# step size of order one. What has the weight matrix learned? The answer is a theorem on random matrices: noise plus
# one spike, which can be seen only if the step is large enough.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

import featlab
from agreement import chance, in_the_limit, mean_and_error
from featlab.theory import bulk_density, spiked_weights

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(3)

# %% [markdown]
# ## The first gradient has rank one
#
# The student is $f(x)=\sum_i a_i\,\sigma(\langle w_i,x\rangle)$ with $p$ neurons, $w_i\sim N(0,I_d/d)$, $|a|=1$, and a
# start paired so that $f=0$. One step of length $\gamma$ on $\frac1{2n}\sum(y-f)^2$ gives
#
# $$ w_i\leftarrow w_i+\gamma\,a_i\,\frac1n\sum_j y_j\,\sigma'(\langle w_i,x_j\rangle)\,x_j . $$
#
# Split $\sigma'$ into its mean $\mu_1=E\sigma'=E[z\,\sigma]$ and the rest. The mean gives the same vector to all
# neurons, $g=\frac1n\sum_jy_jx_j$; the rest adds a little noise to each, which is spread over all directions. So
#
# $$ W_1\approx W_0+\gamma\mu_1\;a\,g^{\mathsf T},\qquad g=\mu_1^*\,w_*+\text{noise},\qquad
# |g|^2\to\theta^2=\mu_1^{*2}+\frac{E\,y^2}{n/d},$$
#
# where $\mu^*_1=E[y\,h]$, since the noise is $\frac1{n^2}\sum y_j^2|x_j|^2\approx E\,y^2\,d/n$. In words: a random
# matrix plus a matrix of rank one, of strength $t=\gamma\mu_1\theta$, whose direction $g/\theta$ has the cosine
# $\mu_1^*/\theta$ with $w_*$ (Ba et al. 2022).
#
# ## When is a spike visible?
#
# Let $\psi=p/d$. Outside the bulk of $W_0$, $s$ is a singular value of $W_0+t\,qv^{\mathsf T}$ iff the determinant of a
# 2 by 2 matrix vanishes, which reads
#
# $$ t^2\;D(s)=1,\qquad D(s)=\frac1p\mathrm{Tr}\frac{s}{s^2-W_0W_0^{\mathsf T}}
# \cdot\frac1d\mathrm{Tr}\frac{s}{s^2-W_0^{\mathsf T}W_0}. $$
#
# $D$ decreases from its value at the edge, so for small $t$ there is no solution. With the Marchenko-Pastur law put in
# (Benaych-Georges, Nadakuditi 2012):
#
# $$ \boxed{\;t>\psi^{1/4}:\quad s_1^2=\frac{(1+t^2)(\psi+t^2)}{t^2},\qquad \langle
# u_1,v\rangle^2=1-\frac{\psi+t^2}{t^2(1+t^2)};
# \qquad\text{else } s_1=1+\sqrt\psi,\;\;\langle u_1,v\rangle^2=0.\;} $$
#
# This is the transition of Baik, Ben Arous and Péché. First a check of the box by its own derivation: $D$ on random
# matrices, at $\psi=\frac12$, must make $t^2D(s_1)=1$.


# %%
def determinant(d, t):
    """t^2 D at the singular value that the box tells, on one random matrix with d/2 rows."""
    bulk = np.linalg.svd(draw.standard_normal((d // 2, d)) / np.sqrt(d), compute_uv=False) ** 2
    s = spiked_weights(t, 0.5).singular_value
    left = np.mean(s / (s**2 - bulk))
    right = (np.sum(s / (s**2 - bulk)) + (d - d // 2) / s) / d  # W0^T W0 has d - p zeros
    return t**2 * left * right


d, seeds, strengths = (200, 12, (1.5, 2.5)) if SMALL else (800, 12, (1.5, 2.5))
mean, error = in_the_limit(*([[determinant(n, t) for _ in range(seeds)] for t in strengths] for n in (d // 2, d)))
print("t^2 D:", mean.round(4), "±", error.round(4))
assert np.all(np.abs(mean - 1) < chance(len(strengths), seeds) * error)
assert np.any(np.abs(mean - 1.05) > chance(len(strengths), seeds) * error)

# %% [markdown]
# ## The step, taken
#
# Student $\tanh$, label $\mathrm{relu}(h)-E$, $n=2d$, $p=d$. The hidden direction is the first axis.

# %%
LABEL = featlab.target("relu(h1) - 1/sqrt(2*pi)")
nodes, weights = np.polynomial.hermite_e.hermegauss(60)
MU = weights @ (nodes * np.tanh(nodes)) / weights.sum()
SLOPE, SECOND = 0.5, 0.5 - 1 / (2 * np.pi)  # E[y h] and E[y^2] of the centred relu


def giant_step(d, step, samples, width):
    """The weights after one step, from scratch."""
    W = draw.standard_normal((width, d)) / np.sqrt(d)
    a = draw.choice([-1.0, 1.0], width) / np.sqrt(width)
    X = draw.standard_normal((samples, d))
    y = LABEL.link(X[:, :1])
    return W + step * a[:, None] * ((y[:, None] / np.cosh(X @ W.T) ** 2).T @ X) / samples


def theory(step, ratio=2.0, psi=1.0):
    """s_1 and the squared cosine of its singular vector with w_*."""
    theta = np.sqrt(SLOPE**2 + SECOND / ratio)
    found = spiked_weights(step * MU * theta, psi)
    return found.singular_value, found.input_overlap * (SLOPE / theta) ** 2


def measured(d, steps, seeds):
    """s_1 and the squared cosine of its vector with w_*, for each step, along (2, step, seed)."""
    found = np.empty((2, len(steps), seeds))
    for i, step in enumerate(steps):
        for j in range(seeds):
            _, values, vectors = np.linalg.svd(giant_step(d, step, 2 * d, d), full_matrices=False)
            found[:, i, j] = values[0], vectors[0, 0] ** 2
    return found


d, seeds = (160, 12) if SMALL else (500, 12)
steps = np.array([1.0, 2.0, 4.0, 6.0]) if SMALL else np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0])
runs = [measured(n, steps, seeds) for n in (d // 2, d)]
mean, error = mean_and_error(runs[1])
expected = np.transpose([theory(step) for step in steps])

# The transition is smeared over a width d^(-1/3) in t. Above it biases are of order 1/d. Below, s_1 is the largest of
# a bulk, which ends short of its edge by a multiple of d^(-2/3) (Tracy and Widom): only its cosine is compared there.
t = steps * MU * np.sqrt(SLOPE**2 + SECOND / 2)
above, below = t > 1 + 1.5 * d ** (-1 / 3), t < 1 - 1.5 * d ** (-1 / 3)
compared = np.array([above, above | below])
limit, limit_error = in_the_limit(*runs)
allowed = chance(compared.sum(), seeds) * limit_error
print("standard errors apart:", (np.abs(limit - expected) / limit_error)[compared].round(1))
assert np.all(np.abs(limit - expected)[compared] < allowed[compared])
without_noise = np.transpose([theory(step, ratio=1e9) for step in steps])  # a theory that forgets the noise of g
assert np.any(np.abs(limit - without_noise)[compared] > allowed[compared])

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3))
spectrum = np.linalg.svd(giant_step(d, 5.0, 2 * d, d), compute_uv=False)
left.hist(spectrum, bins=40, density=True, color="0.75")
grid = np.linspace(0, 2.05, 200)
left.plot(grid, bulk_density(grid, 1.0), "C0", label="Marchenko-Pastur")
left.axvline(theory(5.0)[0], color="C3", ls="--", label="predicted outlier")
left.set(xlabel="singular value", title="$W_1$, step 5", xlim=(0, 3.2))
left.legend(fontsize=8)
fine = np.linspace(0.01, 6.2, 200)
for axes, which, name in ((middle, 0, "$s_1$"), (right, 1, "squared cosine of $u_1$ with $w_*$")):
    axes.plot(fine, [theory(step)[which] for step in fine], "C3")
    axes.errorbar(steps, mean[which], 2 * error[which], fmt="ko", ms=4)
    axes.set(xlabel="step $\\gamma$", title=name)
figure.tight_layout()

# %% [markdown]
# Below a critical step nothing can be seen in the spectrum, though every neuron *has* moved; above, one direction
# stands out. More data turn it towards $w_*$; a larger step only makes it longer.
#
# ## Which links give a spike?
#
# All this lives on $\mu_1^*=E[y\,h]\ne0$: information exponent 1. For a link of exponent $\ell$ the neuron's own
# overlap has to help. As in chapter 2, a neuron of overlap $m\sim d^{-1/2}$ has, with
# $\zeta'(m)\approx\ell c_\ell c_\ell^*m^{\ell-1}$,
#
# $$ \text{gradient}=\zeta'(m)\,w_*+\text{noise of length }\sqrt{C\,d/n},\qquad
# \cos^2=\frac{\zeta'^2}{\zeta'^2+C\,d/n}. $$
#
# Both are equal at $n\sim d\cdot d^{\ell-1}=d^\ell$. So one step on $n\sim d$ finds only what is linear, and a link of
# exponent $\ell$ takes one step on $d^\ell$ samples (Dandi et al. 2023): more than the $d^{\ell-1}$ of many small
# steps, for one look. We measure it for relu neurons and the labels $h_1$ and $\mathrm{He}_2/\sqrt2$, where
# $C=E[y^2\sigma'^2]=\frac12$.

# %%
RELU = {1: 0.5, 2: 1 / np.sqrt(4 * np.pi)}  # orthonormal coefficients of relu


def gradient_cosine(order, d, samples, neurons):
    """The squared cosines of first gradients with w_*, and their overlaps m at the start."""
    W = draw.standard_normal((neurons, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X = draw.standard_normal((samples, d))
    y = X[:, 0] if order == 1 else (X[:, 0] ** 2 - 1) / np.sqrt(2)
    G = (y[:, None] * (X @ W.T > 0)).T @ X / samples
    along = np.sum(G * W, 1, keepdims=True)
    G -= along * W  # the part along w itself only changes its length
    return G[:, 0] ** 2 / np.sum(G**2, 1), W[:, 0]


def cosine_law(order, d, samples, m):
    signal = (order * RELU[order] * m ** (order - 1)) ** 2
    return signal * (1 - m**2) / (signal + 0.5 * d / samples)


def found_and_told(order, d, ratios, batches):
    """Squared cosines, measured and by the law, averaged over the neurons of a batch: (2, ratio, batch)."""
    found = np.empty((2, len(ratios), batches))
    for i, ratio in enumerate(ratios):
        for j in range(batches):  # neurons of one batch share its noise, so that batches are what is independent
            cosines, overlaps = gradient_cosine(order, d, int(ratio * d**order), neurons=40)
            found[:, i, j] = cosines.mean(), cosine_law(order, d, int(ratio * d**order), overlaps).mean()
    return found


d, batches = (40, 12) if SMALL else (100, 12)
ratios = np.geomspace(0.5, 20, 3) if SMALL else np.geomspace(0.4, 20, 7)
figure, axes = plt.subplots(figsize=(6, 3.4))
for order, colour in ((1, "C0"), (2, "C1")):
    half, full = (found_and_told(order, n, ratios, batches) for n in (d // 2, d))
    mean, error = mean_and_error(full)
    axes.plot(ratios, mean[1], colour)
    axes.errorbar(ratios, mean[0], 2 * error[0], fmt=colour + "o", label=f"information exponent {order}, d = {d}")
    allowed = chance(len(ratios), batches)
    apart, apart_error = in_the_limit(half[0] - half[1], full[0] - full[1])
    print(f"exponent {order}: {(apart / apart_error).round(1)} standard errors apart, allowed {allowed:.1f}")
    assert np.all(np.abs(apart) < allowed * apart_error)
    wrong, wrong_error = in_the_limit(half[0] - 0.7 * half[1], full[0] - 0.7 * full[1])
    assert np.any(np.abs(wrong) > allowed * wrong_error)
axes.set(xscale="log", xlabel="$n/d^{\\,\\ell}$", ylabel="squared cosine of the gradient")
axes.legend(fontsize=8)
figure.tight_layout()

# %% [markdown]
# The two curves have the same shape on axes $n/d^{\,\ell}$, which is the statement: for $\ell=2$ the axis is longer by
# a factor of $d$.
#
# ## Exercises
#
# **1.** Which step $\gamma_c$ makes the spike of our network visible, at $n=2d$ and in the limit of infinitely many
# samples? Check the first with `featlab.theory.spiked_weights`.

# %% tags=["solution"]
# t = gamma mu_1 theta = psi^(1/4) = 1.
critical = {ratio: 1 / (MU * np.sqrt(SLOPE**2 + SECOND / ratio)) for ratio in (2.0, np.inf)}
print({ratio: round(float(step), 3) for ratio, step in critical.items()})
assert theory(1.01 * critical[2.0])[1] > 0 == theory(0.99 * critical[2.0])[1]
assert np.isclose(critical[np.inf], 2 / MU)

# %% [markdown]
# **2.** The student has found a direction. Fit its second layer by ridge regression to fresh samples, after a step of
# order $\sqrt p$ in place of one of order one: is the risk below that of everything linear, $\|P_{>1}f\|^2$? (Ba et
# al. 2022 show that no step of order one gets there.)

# %% tags=["solution"]
d, p, n = (80, 200, 1600) if SMALL else (150, 400, 4000)
risks = {}
for name, step in (("no step", 0.0), ("order one", 3.0), ("order sqrt p", 4 * np.sqrt(p))):
    values = []
    for _ in range(6):
        W = giant_step(d, step, 4 * d, p)
        X, X_new = draw.standard_normal((n, d)), draw.standard_normal((4000, d))
        biases = draw.standard_normal(p)  # without them features of tanh are odd, and cannot fit the even part of relu
        Z, Z_new = np.tanh(X @ W.T + biases), np.tanh(X_new @ W.T + biases)
        fitted = np.linalg.solve(Z.T @ Z / n + 1e-3 * np.eye(p), Z.T @ LABEL.link(X[:, :1]) / n)
        values.append(np.mean((LABEL.link(X_new[:, :1]) - Z_new @ fitted) ** 2))
    risks[name] = mean_and_error(values)
    print(f"{name:14} {risks[name][0]:.4f} ± {risks[name][1]:.4f}")
linear = SECOND - SLOPE**2
print(f"{'linear':14} {linear:.4f}")
mean, error = risks["order sqrt p"]
assert mean < linear - chance(2, 6) * error
mean, error = risks["order one"]
assert mean > linear - chance(2, 6) * error

# %% [markdown]
# **3.** $y=\mathrm{He}_2(h_1)$ on $n=4d$ samples: what does the top singular vector of $W_1$ know of $w_*$? And the
# top eigenvector of $\frac1n\sum y_jx_jx_j^{\mathsf T}$?

# %% tags=["solution"]
# mu_1^* = 0: g is noise, and so is the spike. The matrix has the mean 2 w_* w_*^T: it sees degree 2 from n ~ d samples
# on, which is a hint that n ~ d^2 is a fault of one step of a neuron and not of the data. See chapters 5 and 6.
d = 200 if SMALL else 800
X = draw.standard_normal((4 * d, d))
y = X[:, 0] ** 2 - 1
W = draw.standard_normal((d, d)) / np.sqrt(d)
a = draw.choice([-1.0, 1.0], d) / np.sqrt(d)
W = W + 5.0 * a[:, None] * ((y[:, None] / np.cosh(X @ W.T) ** 2).T @ X) / len(X)
by_step = np.linalg.svd(W)[2][0, 0] ** 2
by_matrix = np.linalg.eigh((X * y[:, None]).T @ X / len(X))[1][0, -1] ** 2
print(f"squared cosines: the step {by_step:.3f}, the matrix {by_matrix:.3f}; the mean by chance is up to {5 / d:.3f}")
# The noise of g = mean(y x) has the variance E[y^2 h^2]/n = 10/n along w_* and E[y^2]/n = 2/n along all else: by chance
# a squared cosine is at most 5/d times a chi^2 with one degree of freedom.
assert by_step < 5 * chi2.isf(0.01, 1) / d < by_matrix

# %% [markdown]
# ## What is still open
#
# - The spike of order one is a Gaussian story; after a step of order $\sqrt p$ the features are not, and their risk is
#   known exactly at $n\asymp d$ (Cui et al. 2024; Dandi et al. 2024) but not at $n\asymp d^2$ with a quadratic part to
#   be found.
# - A second step on the *same* batch: the noise of the first is no longer independent of the data. Chapter 5 shows
#   that this helps; a theory of the spectrum of $W_t$ along a whole training run does not exist.
#
# **Papers.** Ba, Erdogdu, Suzuki, Wang, Wu, Yang 2022 (2205.01445). Dandi, Krzakala, Loureiro, Pesce, Stephan 2023
# (2305.18270). In featlab: [one step, then a second layer](../../first-step.md); `featlab.GiantSteps`,
# `featlab.theory.feature_spectrum`. Next: [staircases](04_staircases.md).
