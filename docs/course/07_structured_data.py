# %% [markdown]
# # 7. Structured data
#
# Gaussian inputs that are the same in all directions are the hardest case. Real inputs have principal components, and
# labels tend to depend on them. The simplest model has one: $x\sim N(0,I+\theta\,\mu\mu^{\mathsf T})$. When does such
# a *spike* help, whom, and how much?

# %%
import math
import os

import matplotlib.pyplot as plt
import numpy as np

import featlab
from agreement import chance, in_the_limit, mean_and_error
from featlab.theory import aligning_exponent, learned_degree

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(7)

# %% [markdown]
# Let the label look along the spike, and keep its argument normalised: $y=g(h)$,
# $h=\langle x,\mu\rangle/\sqrt{1+\theta}\sim N(0,1)$ at every $\theta$. Large $d$ is described by powers:
# $\theta=d^{\,\beta}$ with $0\le\beta\le1$.
#
# ## Kernels climb stairs
#
# Take $n\sim d$. Inner products are $\langle x,x'\rangle/d=\frac{1+\theta}d\,hh'+O(d^{-1/2})$, so that a kernel
# $\sum_jc_j(\langle x,x'\rangle/d)^j$ contains, for every degree $j$ of $h$, one eigenvalue of order $(\theta/d)^j$.
# It is learned once $n\,(\theta/d)^j\gg1$. With $n\sim d$:
#
# $$ d\cdot d^{\,(\beta-1)j}\gg1\quad\Longleftrightarrow\quad \boxed{\;\beta>1-\frac1j\;} $$
#
# At $\beta=0$ only degree 1, as in chapter 1; between $1-\frac1j$ and $1-\frac1{j+1}$ all up to $j$ (Ba et al. 2023).
# The same target as in chapter 1, a third of its variance in each of three degrees; kernel ridge regression from
# scratch, and its theory at two dimensions, one of them far beyond reach.

# %%
TEXT = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
link = featlab.target(TEXT).link
RIDGE = 1e-3


def spiked_inputs(samples, dim, power):
    """Inputs with the spike along the first axis, and the normalised field."""
    X = draw.standard_normal((samples, dim))
    h = X[:, :1].copy()
    X[:, 0] *= np.sqrt(1 + dim**power)
    return X, h


def kernel_risk(dim, power, fresh=3000):
    X, h = spiked_inputs(2 * dim, dim, power)
    X_new, h_new = spiked_inputs(fresh, dim, power)
    fitted = np.linalg.solve(np.exp(X @ X.T / dim) + len(X) * RIDGE * np.eye(len(X)), link(h))
    return np.mean((np.exp(X_new @ X.T / dim) @ fitted - link(h_new)) ** 2)


def predicted(dim, power, ridge):
    spiked = featlab.target(TEXT, inputs=featlab.Spiked(float(dim) ** power, 1.0))
    return float(featlab.predict(spiked, featlab.KernelRidge("exponential", ridge), dim=dim, samples=2 * dim).risk[0])


dim, seeds = (300, 10) if SMALL else (400, 12)
powers = np.array([0.1, 0.3, 0.5]) if SMALL else np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
runs = [np.array([[kernel_risk(d, power) for _ in range(seeds)] for power in powers]) for d in (dim // 2, dim)]
laws = [np.array([[predicted(d, power, RIDGE)] for power in powers]) for d in (dim // 2, dim)]
mean, error = mean_and_error(runs[1])
print(np.array([laws[1][:, 0], mean, error]).round(3))
apart, apart_error = in_the_limit(*(run - law for run, law in zip(runs, laws, strict=True)))
wrong, _ = in_the_limit(*(run - 1.3 * law for run, law in zip(runs, laws, strict=True)))
allowed = chance(len(powers), seeds) * apart_error
print("standard errors apart:", (apart / apart_error).round(1))
assert np.all(np.abs(apart) < allowed)
assert np.any(np.abs(wrong) > allowed)

figure, axes = plt.subplots(figsize=(6.5, 3.4))
fine = np.linspace(0.05, 0.85, 5 if SMALL else 25)
axes.errorbar(powers, mean, 2 * error, fmt="ko", label=f"measured, d = {dim}")
axes.plot(fine, [predicted(dim, power, RIDGE) for power in fine], "C0", label=f"predicted, d = {dim}")
axes.plot(fine, [predicted(10**12, power, "leave-one-out") for power in fine], "C3", label="predicted, d = $10^{12}$")
for level in (2 / 3, 1 / 3):
    axes.axhline(level, color="0.85", lw=0.8, zorder=0)
axes.set(xlabel="$\\beta$ in $\\theta=d^{\\,\\beta}$", ylabel="risk of the kernel, n = 2d", ylim=(-0.02, 1))
axes.legend(fontsize=8)
figure.tight_layout()

plateaus = [predicted(10**12, power, "leave-one-out") for power in (0.4, 0.6, 0.75)]
assert np.allclose(plateaus, [2 / 3, 1 / 3, 0], atol=0.01)

# %% [markdown]
# ## A gradient step needs only the first stair
#
# A neuron with weights $w$ on the sphere, $m=\langle w,\mu\rangle\sim d^{-1/2}$. Its field $\langle w,x\rangle$ and
# the label's $h$ have the correlation
#
# $$ \rho=\frac{\sqrt{1+\theta}\,m}{\sqrt{1+\theta m^2}}\approx d^{\,(\beta-1)/2}, $$
#
# much larger than $m$: the spike turns the neuron towards itself before anything is learned. By the box of chapter 1,
# the mean gradient along $\mu$ for a link of information exponent $k$ is of order $\sqrt{1+\theta}\;\rho^{k-1}$; the
# noise of $n\sim d$ samples is of order one. The signal wins if $\frac\beta2+\frac{(k-1)(\beta-1)}2>0$:
#
# $$ \boxed{\;\beta>1-\frac1k\;} $$
#
# with $k$ the *lowest* degree of the link, where the kernel needs the *highest*, $p$. That is what features buy here
# (Ba et al. 2023; Mousavi-Hosseini et al. 2023).
#
# For a relu neuron and $y=\mathrm{He}_2(h)/\sqrt2$ the averages are elementary. $\sigma'=1(u>0)$ has the orthonormal
# coefficients $b_1=\frac1{\sqrt{2\pi}}$, $b_3=-b_1/\sqrt6$, and $h_2(h)\,h=\sqrt3\,h_3+\sqrt2\,h_1$, so the gradient
# along $\mu$ is $S=\sqrt{1+\theta}\,s(\rho)$ with $s=\sqrt2\,b_1\rho+\sqrt3\,b_3\rho^3$. Along the rest of $w$ it is
# $P=\frac{c_2\rho^2-\rho\,s}{\sqrt{1-\rho^2}}$, $c_2=\frac1{\sqrt{4\pi}}$. The noise has the squared length
# $E[y^2\sigma'^2]\,d/n=d/2n$, and of it $\frac52(1+\theta)/n$ along $\mu$, over which we average.


# %%
def cosine_law(m, dim, power, ratio):
    """The squared cosine of one neuron's first gradient with mu."""
    theta = float(dim) ** power
    rho = np.sqrt(1 + theta) * m / np.sqrt(1 + theta * m**2)
    b = 1 / np.sqrt(2 * np.pi)
    along = np.sqrt(2) * b * rho - np.sqrt(3 / 6) * b * rho**3
    rest = (rho**2 / np.sqrt(4 * np.pi) - rho * along) / np.sqrt(1 - rho**2)
    g, weights = np.polynomial.hermite_e.hermegauss(40)
    chance = np.sqrt(2.5 / (ratio * dim)) * g  # the noise along mu: E[y^2 h^2]/2 = 5/2
    signal = (1 + theta) * (np.asarray(along)[..., None] + chance) ** 2
    return signal / (signal + np.asarray(rest)[..., None] ** 2 + 0.5 / ratio) @ (weights / weights.sum())


def measured_cosines(dim, power, ratio, neurons):
    X, h = spiked_inputs(ratio * dim, dim, power)
    W = draw.standard_normal((neurons, dim))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    gradients = ((h**2 - 1) / np.sqrt(2) * (X @ W.T > 0)).T @ X / len(X)
    return gradients[:, 0] ** 2 / np.sum(gradients**2, 1), W[:, 0]


def found_and_told(dim, powers, batches):
    """Squared cosines, measured and by the law, averaged over the neurons of a batch: (2, power, batch)."""
    found = np.empty((2, len(powers), batches))
    for i, power in enumerate(powers):
        for j in range(batches):
            cosines, overlaps = measured_cosines(dim, power, 2, neurons)
            found[:, i, j] = cosines.mean(), cosine_law(overlaps, dim, power, 2).mean()
    return found


dim, batches, neurons = (200, 16, 40) if SMALL else (1000, 16, 60)
powers = np.array([0.1, 0.4, 0.7]) if SMALL else np.linspace(0.1, 0.9, 9)
half, full = (found_and_told(d, powers, batches) for d in (dim // 2, dim))
apart, apart_error = in_the_limit(half[0] - half[1], full[0] - full[1])
wrong, _ = in_the_limit(half[0] - 0.7 * half[1], full[0] - 0.7 * full[1])
allowed = chance(len(powers), batches) * apart_error
print("standard errors apart:", (apart / apart_error).round(1))
assert np.all(np.abs(apart) < allowed)
assert np.any(np.abs(wrong) > allowed)

figure, axes = plt.subplots(figsize=(6.5, 3.4))
normal = np.random.default_rng(0).standard_normal(2000)
mean, error = mean_and_error(full[0])
axes.errorbar(powers, mean, 2 * error, fmt="ko", label=f"measured, d = {dim}")
for at, colour in ((dim, "C0"), (10**6, "C1"), (10**12, "C3")):
    betas = np.linspace(0.1, 0.9, 41)
    curve = [cosine_law(normal / np.sqrt(at), at, power, 2).mean() for power in betas]
    axes.plot(betas, curve, colour, label=f"law, d = {at:.0e}")
axes.axvline(0.5, color="0.8", lw=0.8, zorder=0)
axes.set(xlabel="$\\beta$", ylabel="squared cosine of a gradient with $\\mu$", ylim=(0, 1))
axes.legend(fontsize=8)
figure.tight_layout()

# %% [markdown]
# The curves cross at $1-\frac1k=\frac12$ and become a step as $d$ grows, slowly: widths are $1/\log d$.
#
# ## A spike that points elsewhere
#
# If $\langle\mu,w_*\rangle=d^{-\gamma}$, a plain gradient goes where the *inputs* are large. Dividing by the
# covariance (a normalised or preconditioned flow) mends it, and the number of samples that suffice is a map of three
# regions (Mousavi-Hosseini et al. 2023): with $k$ the information exponent
#
# $$ n\sim d^{\,k}\;(\beta<\gamma),\qquad d^{\,1+(k-1)(1-2(\beta-\gamma))}\;(\gamma<\beta<2\gamma),\qquad
# d^{\,1+(k-1)(1-\beta)}\;(2\gamma<\beta). $$

# %%
exponents = {}
for beta, gamma in ((0.1, 0.3), (0.4, 0.3), (0.8, 0.2)):
    law = featlab.target("He3(h1)", inputs=featlab.SpikeLaw(beta, gamma))
    exponents[beta, gamma] = featlab.analyse(law).sample_cost["normalised_flow"].text
print(exponents)
assert list(exponents.values()) == ["d^3", "d^2.6", "d^1.4"]

# %% [markdown]
# ## Exercises
#
# **1.** Which degrees does a kernel learn from $n=d^{\,\kappa}$ samples at a spike $\theta=d^{\,\beta}$? Compare with
# `featlab.theory.learned_degree` at $(\kappa,\beta)=(1.5,0)$, $(1,0.6)$, $(1.5,0.6)$.

# %% tags=["solution"]
# n (theta/d)^j >> 1 reads kappa > j (1 - beta): the largest whole j below kappa/(1 - beta).
for kappa, beta in ((1.5, 0.0), (1.0, 0.6), (1.5, 0.6)):
    degree = math.ceil(kappa / (1 - beta)) - 1
    print(f"kappa = {kappa}, beta = {beta}: up to degree {degree}")
    assert degree == learned_degree(kappa, beta)

# %% [markdown]
# **2.** At which $\beta$ are signal and noise of a gradient equal at finite $d$, for $\mathrm{He}_2$? Find it from
# `cosine_law` for $d=10^3,10^6,10^{12}$, and compare with `featlab.theory.aligning_exponent` (another student: relu
# neurons with random biases).


# %% tags=["solution"]
def crossing(dim):
    grid = np.linspace(0.2, 0.9, 281)
    typical = [cosine_law(1 / np.sqrt(dim), dim, power, 2) for power in grid]
    return grid[np.argmax(np.array(typical) > 0.5)]


mine = [crossing(d) for d in (10**3, 10**6, 10**12)]
print(np.round(mine, 3))
assert np.abs(np.array(mine) - 0.5).max() < 0.02  # 1 - 1/2
if not SMALL:
    theirs = [aligning_exponent("He2(h1)", dim=d, ratio=2) for d in (10**3, 10**6, 10**12)]
    print(np.round(theirs, 3))
    assert abs(theirs[2] - 0.5) < abs(theirs[0] - 0.5)

# %% [markdown]
# **3.** Shuffle the labels. Does a gradient still align with $\mu$ at large $\beta$? Measure, and say what that means
# for one who sees features align.

# %% tags=["solution"]
# The noise of the gradient has the covariance of the inputs: along mu it is theta/d of the rest. Not for theta << d,
# but the feature <x, G> is larger along mu by another factor theta: above beta = 1/2 features know mu even if the
# labels say nothing. A control with shuffled labels is needed.
X, h = spiked_inputs(2 * dim, dim, 0.8)
y = draw.permutation((h[:, 0] ** 2 - 1) / np.sqrt(2))
W = draw.standard_normal((neurons, dim)) / np.sqrt(dim)
gradients = (y[:, None] * (X @ W.T > 0)).T @ X / len(X)
features = np.corrcoef((X @ gradients.T).T, h[:, 0])[-1, :-1] ** 2
cosines = gradients[:, 0] ** 2 / np.sum(gradients**2, 1)
print(f"squared cosine of gradients with mu {cosines.mean():.3f}")
print(f"squared correlation of features with h {features.mean():.3f}")
assert features.mean() > 2 * cosines.mean()

# %% [markdown]
# ## What is still open
#
# - One spike is a caricature of a covariance. For power laws in the spectrum, kernels have an elaborate theory, and
#   one-step feature learning has first results.
# - The conditions above are sufficient: features align already for $\beta>(k-1)/(k+1)$ by a count of sizes, which
#   simulations support and nobody has proved.
# - A lower bound for networks under a spike, to compare the map with, is missing; so is a critical ratio
#   $\alpha_c(\beta)$ for message passing.
#
# **Papers.** Ba, Erdogdu, Suzuki, Wang, Wu 2023 (spiked covariance). Mousavi-Hosseini, Wu, Suzuki, Erdogdu 2023
# (2309.03843). Donhauser, Wu, Yang 2021 (2104.04244). In featlab: [structured data](../../structured-data.md),
# [flows](../../flows.md), [kernels](../../kernels.md). Next: [depth](08_depth.md).
