# %% [markdown]
# # 9. Your own target
#
# You have a function in mind, from a paper, a talk, a dream. What will a network learn of it, by which algorithm, from
# how much data? This chapter goes through it once, the way one does with pencil and paper, and lets `featlab` do the
# same beside it. Then it shows what exponents do not say.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import featlab
from agreement import chance, in_the_limit, mean_and_error

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(9)

# %% [markdown]
# ## Five questions
#
# Take a gate: one direction decides the sign with which another is read, and a little of the first shows by itself,
#
# $$ y=\mathrm{sign}(h_1)\,h_2+\tfrac14h_1 . $$
#
# 1. *What does a linear fit see?* $E[y\,h]=(\frac14,0)$: $h_1$, so the information exponent is 1.
# 2. *And then?* $E[y\,h_2\mid h_1]=\mathrm{sign}(h_1)\neq0$: $h_2$ at order 1 again. Leap 1.
# 3. *Without the linear term?* $E[y\,h_1h_2]=E|h_1|=\sqrt{2/\pi}$: both at order 2. Leap 2.
# 4. *Do functions of the label see more?* Given $y=\pm h_2$ alone, $h_1$ is symmetric: $E[h\mid y]=0$, and
#    $E[h_1h_2\mid y]=\sqrt{2/\pi}\,y$. Order 2 as well: EASY, with a critical ratio.
# 5. *Which one?*
#    $G(y)=\sqrt{2/\pi}\,y\begin{pmatrix}0&1\\1&0\end{pmatrix}+(y^2-1)\begin{pmatrix}0&0\\0&1\end{pmatrix}$, as
#    $h_2^2=y^2$; $1/\alpha_c$ is the largest eigenvalue of $M\mapsto E[G\,M\,G]$ (chapter 6).

# %%
GATE, SHOWN = "sign(h1)*h2", "sign(h1)*h2 + h1/4"
nodes, weights = np.polynomial.hermite_e.hermegauss(80)
weights = weights / weights.sum()
G = np.zeros((len(nodes), 2, 2))
G[:, 0, 1] = G[:, 1, 0] = np.sqrt(2 / np.pi) * nodes
G[:, 1, 1] = nodes**2 - 1
operator = np.einsum("y,yab,ycd->acbd", weights, G, G).reshape(4, 4)  # M -> E[G M G], as a matrix on the entries of M
mine = 1 / np.abs(np.linalg.eigvals(operator)).max()

gate, shown = featlab.analyse(featlab.target(GATE)), featlab.analyse(featlab.target(SHOWN))
print(f"without the linear term: leap {gate.leap}, {gate.verdict}, alpha_c {gate.alpha_c:.4f}; by hand {mine:.4f}")
climbed = [stage.directions.shape[1] for stage in shown.giant_steps]
print(f"with it: leap {shown.leap}, {shown.verdict}, giant steps find {climbed}")
assert (gate.leap, str(gate.verdict)) == (2, "EASY")
assert abs(gate.alpha_c - mine) < 1e-4
assert (shown.leap, len(shown.giant_steps)) == (1, 2)

# %% [markdown]
# `featlab.explain` puts all of it into words: exponents, the staircases, what each algorithm needs, and the papers
# that say so. `print` it in a terminal; in a notebook it is a page with pictures. Its numbers are attributes, so that
# one can draw one's own.

# %%
print("\n".join(str(featlab.explain(SHOWN, dim=10**4)).splitlines()[:12]))

costs = gate.sample_cost
names = [name for name in costs if costs[name].exponent is not None and costs[name].exponent < 5]
figure, axes = plt.subplots(figsize=(7.5, 3.2))
for shift, (analysis, label) in enumerate(((gate, GATE), (shown, SHOWN))):
    powers = [analysis.sample_cost[name].exponent for name in names]
    axes.barh(np.arange(len(names)) + 0.35 * shift, powers, height=0.35, label=label)
axes.set_yticks(np.arange(len(names)) + 0.17, [costs[name].label for name in names])
axes.set(xlabel="samples, as a power of d (logarithms not shown)")
axes.legend(fontsize=8)
figure.tight_layout()

# %% [markdown]
# ## Theory over simulation
#
# A prediction that nobody tests is an opinion. `featlab.predict` and `featlab.simulate` take the same words and share
# no code; `featlab.compare` says whether they agree, *and* how wrong a prediction could have been without being
# noticed.

# %%
dim, seeds, steps = (1000, 40, 3) if SMALL else (4000, 60, 4)
learner = featlab.GiantSteps(steps, 2.0, loss="correlation")
sizes = {"dim": dim, "samples": 8 * dim, "student": featlab.TwoLayer(activation="relu", start="orthogonal")}
theory = featlab.predict(SHOWN, learner, **sizes)
run = featlab.simulate(SHOWN, learner, **sizes, seeds=seeds)
verdict = featlab.compare(theory, run, names=["overlap"])
print(verdict)
wrong = featlab.compare(theory.assign(overlap=1.3 * theory.overlap), run, names=["overlap"])
print("the same with overlaps 30% too large:", wrong.verdict)
assert verdict.verdict == "agrees"
assert wrong.verdict == "disagrees"

figure, axes = plt.subplots(figsize=(6, 3))
for k in range(2):
    axes.plot(theory.time, theory.overlap[:, 0, k], f"C{k}")
    error = run.overlap.std("seed", ddof=1)[:, 0, k] / seeds**0.5
    axes.errorbar(run.time, run.overlap.mean("seed")[:, 0, k], 2 * error, fmt=f"C{k}o", label=f"h{k + 1}")
axes.set(xlabel="giant steps, n = 8d each", ylabel="overlap", xticks=range(steps + 1))
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## What exponents hide
#
# Leap 1 sounds better than leap 2. But the stair is $\varepsilon h_1$ with $\varepsilon=\frac14$, and a linear fit to
# $n=\alpha d$ samples has, as in chapter 5,
#
# $$ \boxed{\;\cos^2=\frac{\alpha\,\varepsilon^2}{\alpha\,\varepsilon^2+E\,y^2}\;}\qquad\text{so that it takes}\quad
# \alpha\sim\frac{E\,y^2}{\varepsilon^2} $$
#
# samples per dimension: 17 here, while the gate alone shows to message passing from $\alpha_c=0.46$ on, and to SGD at
# order 2 from about $\log d$ on. A stair with $\varepsilon^2<1/\log d$ helps little. An exponent is a statement on
# $d\to\infty$ at a *fixed* function.


# %%
def linear_fits(dim, ratio, epsilons, seeds):
    """Squared cosines of mean(y x) with the first direction, (epsilon, seed)."""
    found = np.empty((len(epsilons), seeds))
    for i, epsilon in enumerate(epsilons):
        for j in range(seeds):
            X = draw.standard_normal((ratio * dim, dim))
            fit = (np.sign(X[:, 0]) * X[:, 1] + epsilon * X[:, 0]) @ X
            found[i, j] = fit[0] ** 2 / (fit @ fit)
    return found


dim, seeds = (200, 24) if SMALL else (600, 24)
ratio, epsilons = 8, np.array([0.1, 0.25, 0.5, 1.0])
runs = [linear_fits(d, ratio, epsilons, seeds) for d in (dim // 2, dim)]
limit, limit_error = in_the_limit(*runs)
told = ratio * epsilons**2 / (ratio * epsilons**2 + 1 + epsilons**2)
print(np.array([told, limit, limit_error]).round(3))
allowed = chance(len(epsilons), seeds) * limit_error
assert np.all(np.abs(limit - told) < allowed)
assert np.any(np.abs(limit - 1.2 * told) > allowed)

figure, axes = plt.subplots(figsize=(6, 3))
fine = np.geomspace(0.08, 1.2, 100)
axes.plot(fine, ratio * fine**2 / (ratio * fine**2 + 1 + fine**2), "C3")
mean, error = mean_and_error(runs[1])
axes.errorbar(epsilons, mean, 2 * error, fmt="ko", label=f"n = {ratio}d, d = {dim}")
axes.set(xscale="log", xlabel="height of the stair, $\\varepsilon$", ylabel="squared cosine", ylim=(0, 1))
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## A function that is not a formula
#
# Any NumPy or JAX function of the fields will do. Where it jumps has to be known, for the integrals; planes are found,
# curves are asked for (`kinks=`).


# %%
def ring(h):
    """1 inside the unit circle."""
    return np.where(h[..., 0] ** 2 + h[..., 1] ** 2 < 1, 1.0, 0.0)


doubted = featlab.target(ring, rank=2)
declared = featlab.target(ring, rank=2, kinks=[lambda h: h[..., 0] ** 2 + h[..., 1] ** 2 - 1])
print("doubts:", len(doubted.doubts), "then", len(declared.doubts))
found = featlab.analyse(declared)
print(f"exponents {found.information_exponent} and {found.generative_exponent}; alpha_c {found.alpha_c:.3f}")
# By hand: p = P(inside) = 1 - e^(-1/2), and E[h1^2 - 1, inside] = -e^(-1/2)/2, so G = -e^(-1/2)/(2p) I inside and
# e^(-1/2)/(2(1-p)) I outside.
p = 1 - np.exp(-0.5)
assert abs(1 / found.alpha_c - np.exp(-1) / 4 * (1 / p + 1 / (1 - p))) < 1e-4
assert len(doubted.doubts) > 0 == len(declared.doubts)

# %% [markdown]
# ## Exercises
#
# **1.** Write down a link of one direction with information exponent 2 and generative exponent 1, and one with 3 and
# 3. (The second is hard: what must $E[z\mid y]$ and $E[z^2\mid y]$ be?)

# %% tags=["solution"]
# A polynomial that is not even has generative exponent 1: He2 + He3. For the second one several directions are easier:
# for sign(h1 h2 h3), E[h_i | y] = 0 and E[h_i h_j | y] = 0 because two signs can always be flipped; E[h1 h2 h3 | y] = y
# (2/pi)^(3/2).
found = featlab.analyse(featlab.target("He2(h1) + He3(h1)"))
assert (found.information_exponent, found.generative_exponent) == (2, 1)
z = draw.standard_normal((200_000, 3))
y = np.sign(z.prod(1))
third = y * z.prod(1)
assert abs(third.mean() - (2 / np.pi) ** 1.5) < 5 * third.std() / len(z) ** 0.5
assert np.all(np.abs((y[:, None] * z * np.roll(z, 1, 1)).mean(0)) < 5 / len(z) ** 0.5)

# %% [markdown]
# **2.** How does noise in the label move $\alpha_c$ of $|h|$? Compute $1/E[(E[z^2\mid y]-1)^2]$ for $y=|z|+\frac12\xi$
# on a grid.

# %% tags=["solution"]
z, y = np.linspace(0, 8, 801), np.linspace(-3, 9, 1201)
joint = 2 * np.exp(-(z**2) / 2) * np.exp(-((y[:, None] - z) ** 2) / (2 * 0.25))  # of |z| and y, up to a constant
joint[:, 0] /= 2  # the trapezoidal rule at its end
joint /= joint.sum()
label = joint.sum(1)
moment = joint @ z**2 / label - 1
theirs = featlab.analyse(featlab.target("abs(h1)", noise=0.25)).alpha_c
print(f"{1 / (label @ moment**2):.4f}, featlab {theirs:.4f}; without noise 0.5")
assert abs(1 / (label @ moment**2) - theirs) < 2e-3

# %% [markdown]
# **3.** What does featlab say to `tanh(h1) + rleu(h2)`, to `h1 - h1`, and to `exp(0.3*h1**2)`? Why must each be
# refused?

# %% tags=["solution"]
# A slip of the pen; a constant, of which there is nothing to learn; and E y^2 = infinity: Hermite coefficients are
# integrals against y, and the theory has no word on it.
refused = 0
for text in ("tanh(h1) + rleu(h2)", "h1 - h1", "exp(0.3*h1**2)"):
    try:
        featlab.target(text)
    except featlab.InvalidTarget as reason:
        refused += 1
        print(str(reason)[:110])
assert refused == 3

# %% [markdown]
# ## What is still open
#
# - Constants. $\alpha_c$ is known for message passing; for SGD, reuse and networks of finite width a constant in front
#   of the power of $d$ is known in few cases.
# - Links between the classes: a target that is *nearly* even, or nearly flat, crosses over at a $d$ that no exponent
#   tells. The box above is the simplest case.
# - Which of these functions looks like a task that anyone cares about?
#
# **Papers.** Troiani et al. 2024 (2405.15480), for question 5. In featlab: [quickstart](../../quickstart.md),
# [the language of targets](../../language.md), [predicting](../../predicting.md). Next:
# [your own data](10_your_own_data.md).
