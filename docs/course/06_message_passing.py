# %% [markdown]
# # 6. Bayes-optimal learning, message passing and phase transitions
#
# So far an algorithm was given, and we asked what it costs. Now the other question: $n=\alpha d$ samples, the link
# known, all the time in the world or polynomial time. How much of $w_*$ can be known? The answers are curves in
# $\alpha$ with kinks and jumps.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import featlab
from agreement import chance, in_the_limit, mean_and_error
from featlab.theory import bayes_optimal, threshold_sequence

SMALL = os.environ.get("FEATLAB_COURSE") == "small"

# %% [markdown]
# ## The one-dimensional problem inside
#
# Suppose that an estimate $\hat w$ of $w_*$ has the overlap $q=\langle\hat w,w_*\rangle=|\hat w|^2$ (a posterior mean
# has both equal). For a new sample, $\omega=\langle\hat w,x\rangle$ is what it knows of $z=\langle w_*,x\rangle$:
# $z=\omega+\sqrt{1-q}\,\varepsilon$ with $\omega\sim N(0,q)$. Then comes the label. What it adds is the score
#
# $$ g_{\rm out}(y,\omega,V)=\frac{E[z\mid y,\omega]-\omega}{V},\qquad V=1-q, $$
#
# and with $n=\alpha d$ samples the precision with which each coordinate of $w_*$ is known is
# $\hat q=\alpha\,E[g_{\rm out}^2]$ (the Fisher information of $n$ samples over $d$ coordinates). A Gaussian prior of
# variance 1 and a measurement of precision $\hat q$ give the posterior overlap $q=\hat q/(1+\hat q)$. So
#
# $$ \boxed{\;q_{t+1}=\frac{\hat q_t}{1+\hat q_t},\qquad \hat q_t=\alpha\,E\big[g_{\rm out}(y,\omega,1-q_t)^2\big]\;} $$
#
# This *state evolution* is followed exactly, as $d\to\infty$, by an algorithm: approximate message passing (AMP). Its
# stable fixed points are the maxima of a free entropy, whose highest is the best that any method can do (Barbier et
# al. 2019; Aubin et al. 2018).
#
# ## Phase retrieval, by hand
#
# $y=|z|$: the sign of every measurement is lost. Two values are possible, $\pm y$, with odds $e^{\pm\omega y/V}$, so
# $E[z\mid y,\omega]=y\tanh(\omega y/V)$.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(101)
weights = weights / weights.sum()


def information(q):
    """E[g_out^2] for y = |z|: (V - E Var(z | y, omega)) / V^2. Var(z | y, omega) = y^2 / cosh^2(omega y / V)."""
    V = 1 - q
    omega = np.sqrt(q) * nodes[:, None]
    y = np.abs(omega + np.sqrt(V) * nodes[None, :])
    left = y**2 / np.cosh(np.minimum(np.abs(omega) * y / V, 300)) ** 2
    return (V - weights @ left @ weights) / V**2


def evolve(alpha, q, steps):
    path = [q]
    for _ in range(steps):
        gain = alpha * information(path[-1])
        path.append(gain / (1 + gain))
    return np.array(path)


for alpha in (0.6, 0.8, 1.0, 1.1):
    fixed = evolve(alpha, 0.01, 1500 if alpha < 0.7 else 400)[-1]
    theirs = bayes_optimal("abs(h1)", alpha).uninformed.overlap[0, 0]
    print(f"alpha = {alpha}: q = {fixed:.4f}, featlab {theirs:.4f}")
    assert abs(fixed - theirs) < 2e-3

# %% [markdown]
# ## AMP in ten lines
#
# The naive iteration, $\hat w\leftarrow$ a step along $X^{\mathsf T}g_{\rm out}$, uses the same $X$ again and again,
# and correlates with itself (chapter 5 lived on that). AMP subtracts exactly that self-correlation, the *Onsager term*
# `onsager` below; then every iteration is as good as one on fresh data.
#
# As in chapter 2 a mean over runs has a bias of order $1/d$, which runs at $d/2$ and $d$ tell, and a standard error.


# %%
def amp(alpha, dim, q, steps, seed, damping=0.0):
    """Overlaps <w_hat, w_*> along the iteration for y = |X w_*|; w_* is the first axis. It starts with overlap q.

    Damping keeps a share of what was there before: the way changes, where it ends does not.
    """
    draw = np.random.default_rng([6, seed])
    X = draw.standard_normal((int(alpha * dim), dim))
    y = np.abs(X[:, 0])
    w = np.sqrt(q * (1 - q)) * draw.standard_normal(dim) / np.sqrt(dim)
    w[0] = q  # so that <w, w_*> = |w|^2 = q
    V, onsager, path = 1 - q, 0.0, [q]
    for _ in range(steps):
        omega = X @ w - onsager
        score = (y * np.tanh(omega * y / V) - omega) / V
        gain = score @ score / dim
        new = (X.T @ score / dim + gain * w) / (1 + gain), 1 / (1 + gain), score / (1 + gain)
        w, V, onsager = ((1 - damping) * b + damping * a for a, b in zip((w, V, onsager), new, strict=True))
        path.append(w[0])
        if V < 1e-5:  # all is known
            break
    return np.array(path)


dim, seeds, steps, alpha = (600, 40, 8, 1.5) if SMALL else (2000, 40, 8, 1.5)
runs = [np.array([amp(alpha, d, 0.1, steps, seed) for seed in range(seeds)]).T[1:] for d in (dim // 2, dim)]
mean, error = in_the_limit(*runs)
told, slower = (evolve(one, 0.1, steps)[1:] for one in (alpha, 0.8 * alpha))
allowed = chance(steps, seeds)
print(np.array([told, mean, error]).round(3))
assert np.all(np.abs(mean - told) < allowed * error)
assert np.any(np.abs(mean - slower) > allowed * error)  # a state evolution of fewer samples is refused

# %% [markdown]
# ## Where it starts, and where it jumps
#
# Put $q\to0$. Then $E[z\mid y,\omega]\approx\omega\,E[z^2\mid y]$ for an even link, so
# $g_{\rm out}\approx\omega\,(E[z^2\mid y]-1)$ and
#
# $$ q_{t+1}\approx\alpha\,q_t\,E\big[(E[z^2\mid y]-1)^2\big]\quad\Longrightarrow\quad
# \boxed{\;\alpha_c=\frac1{E\big[(E[z^2\mid y]-1)^2\big]}=\frac1{2\lambda_2^2}\;} $$
#
# with the $\lambda_2$ of chapter 5. For $|z|$, $E[z^2\mid y]=y^2$ and $\alpha_c=1/E(z^2-1)^2=\frac12$. Below
# $\alpha_c$ AMP learns *nothing*. If $E[z\mid y]\ne0$, it starts at any $\alpha$ (featlab's word is TRIVIAL; EASY is a
# finite $\alpha_c$; HARD is $\lambda_1=\lambda_2=0$, no start at any $\alpha$).
#
# At larger $\alpha$ a second fixed point can exist that AMP does not reach from a weak start.

# %%
alphas = np.array([0.2, 0.8, 1.1, 1.5] if SMALL else [0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5])
dim, seeds = (600, 10) if SMALL else (1000, 10)


def amp_ends(dim):
    return np.array([[np.abs(amp(a, dim, 0.1, 150, seed, damping=0.2)[-1]) for seed in range(seeds)] for a in alphas])


ends = [amp_ends(d) for d in (dim // 2, dim)]
measured, error = mean_and_error(ends[1])
fine = np.sort([*np.linspace(0.2, 1.12, 47), 0.999, 1.001, 1.1284, 1.129, *np.linspace(1.14, 1.5, 5)])
curves = [bayes_optimal("abs(h1)", a) for a in fine]
events = threshold_sequence("abs(h1)", highest=2.0)

figure, axes = plt.subplots(figsize=(6.5, 3.6))
axes.plot(fine, [c.uninformed.overlap[0, 0] for c in curves], "C0", label="AMP, theory")
axes.plot(fine, [c.overlap[0, 0] for c in curves], "C3--", label="the best estimate")
axes.errorbar(alphas, measured, 2 * error, fmt="ko", label=f"AMP, d = {dim}")
for event in events:
    axes.axvline(event.alpha, color="0.8", lw=0.8, zorder=0)
axes.set(xlabel="$\\alpha=n/d$", ylabel="overlap q")
axes.legend(fontsize=8, loc="lower right")
figure.tight_layout()
print([(round(event.alpha, 4), event.kind) for event in events])
assert abs(events[0].alpha - 0.5) < 1e-3
assert abs(events[1].alpha - 1.1285) < 1e-3

hard = [a for a, c in zip(fine, curves, strict=True) if c.hard]
print(f"the best estimate is out of AMP's reach for alpha from {min(hard):.2f} to {max(hard):.2f}")
assert 0.999 < min(hard) <= 1.001
told = np.array([bayes_optimal("abs(h1)", a).uninformed.overlap[0, 0] for a in alphas])
wrong = np.array([bayes_optimal("abs(h1)", 0.75 * a).uninformed.overlap[0, 0] for a in alphas])
# What a run sees of a threshold is an average over its n samples, which scatters by about d^(-1/2): near one, runs go
# either way. Four such widths away, at the smaller size, they are all on one side, and biases are of order 1/d.
clear = np.all([np.abs(alphas - event.alpha) > 4 * (dim / 2) ** -0.5 for event in events], axis=0)
limit, limit_error = (found[clear] for found in in_the_limit(*ends))
bound = chance(clear.sum(), seeds) * limit_error + 1e-4  # where all runs find all, the overlap is 1 up to its last step
print(f"alpha {alphas[clear]}: told {told[clear].round(3)}, measured {limit.round(3)} ± {limit_error.round(3)}")
assert np.all(np.abs(limit - told[clear]) < bound)
assert np.any(np.abs(limit - wrong[clear]) > bound)

# %% [markdown]
# (Near the jump runs go either way, and their mean lies between: at $d=1000$ the threshold is smeared by a few
# percent.)
#
# Three phases: nothing can be learned ($\alpha<\frac12$); something, more and more; everything. Between $\alpha=1$ and
# $1.128$ the labels determine $w_*$ exactly, and no fast method is known that finds it and bears the slightest noise: a
# *computational gap*. Several directions have a matrix $Q$ in the place of $q$, and one threshold after the other: the
# grand staircase again, with constants.

# %%
pair = [bayes_optimal("sign(h1*h2)", a).uninformed.overlap[0, 0] for a in (2.0, 3.0, 4.0, 7.0)]
print("sign(h1*h2):", np.round(pair, 4))
assert np.allclose(pair, [0, 0.2427, 0.6438, 0.9325], atol=2e-3)

# %% [markdown]
# ## Exercises
#
# **1.** For several directions the linearised iteration is $Q\leftarrow\alpha\,E[G(y)\,Q\,G(y)]$ with
# $G(y)=E[zz^{\mathsf T}-I\mid y]$ (Troiani et al. 2024). Find $\alpha_c$ of $\mathrm{sign}(h_1h_2)$.

# %% tags=["solution"]
# E[z1 z2 | y] = y E|z1| E|z2| = 2y/pi, the diagonal is 0: G = (2y/pi) [[0, 1], [1, 0]], and G Q G = (4/pi^2) times Q
# with its two indices exchanged. The largest eigenvalue is 4/pi^2.
found = featlab.analyse(featlab.target("sign(h1*h2)"))
print(f"{np.pi**2 / 4:.5f}, featlab {found.alpha_c:.5f}")
assert abs(found.alpha_c - np.pi**2 / 4) < 1e-6

# %% [markdown]
# **2.** The linearised AMP is a power iteration. For $|z|$ its matrix is $\frac1d\sum_j T(y_j)\,x_jx_j^{\mathsf T}$
# with $T=1-1/E[z^2\mid y]=1-1/y^2$ (Mondelli, Montanari 2019; Luo et al. 2019). Does its top eigenvector know $w_*$
# below and above $\alpha=\frac12$?

# %% tags=["solution"]
d, draw = (400, np.random.default_rng(66)) if SMALL else (800, np.random.default_rng(66))
cosines = {}
for alpha in (0.25, 1.0):
    values = []
    for _ in range(7):
        X = draw.standard_normal((int(alpha * d), d))
        matrix = (X * (1 - 1 / X[:, :1] ** 2)).T @ X / d
        values.append(np.linalg.eigh(matrix)[1][0, -1] ** 2)
    cosines[alpha] = np.median(values)
print({alpha: round(float(value), 3) for alpha, value in cosines.items()})
assert cosines[0.25] < cosines[1.0] / 3
assert cosines[1.0] > 0.1

# %% [markdown]
# **3.** Use $\lambda_2$ of chapter 5, exercise 1, to find $\alpha_c$ of $\mathrm{He}_4$. How does noise in the label
# move it?

# %% tags=["solution"]
# 1/(2 * 0.775) = 0.645. Noise blurs what the label says of z^2: lambda_2 falls, alpha_c rises; no exponent changes.
ratios = [featlab.analyse(featlab.target("He4(h1)", noise=noise)).alpha_c for noise in (0.0, 1.0)]
print(np.round(ratios, 4))
assert abs(ratios[0] - 0.645) < 1e-3
assert ratios[1] > ratios[0]

# %% [markdown]
# ## What is still open
#
# - That no polynomial-time algorithm beats AMP is a conjecture with exceptions: without any noise, lattice reduction
#   solves phase retrieval from $d+1$ samples (Song, Zadik, Bruna 2021), which no message passing does.
# - Above HARD targets ($k^*\ge3$) message passing of this form is blind. Methods on tensors reach $d^{k^*/2}$ samples;
#   a theory of constants there, with curves as sharp as these, is missing.
# - Do neural networks trained by gradient descent reach AMP's thresholds? Close to, in experiments; the theorem is for
#   one-step and two-step variants.
#
# **Papers.** Barbier, Krzakala, Macris, Miolane, Zdeborova 2019 (1708.03395). Aubin et al. 2018 (1806.05451). Troiani
# et al. 2024 (2405.15480). Defilippis et al. 2025 (2502.02545). In featlab: `featlab.BayesAmp`,
# `featlab.theory.bayes_optimal`, [dimension reduction](../../dimension-reduction.md). Next:
# [structured data](07_structured_data.md).
