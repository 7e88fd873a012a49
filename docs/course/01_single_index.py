# %% [markdown]
# # 1. What a single-index model is, and why kernels fail
#
# A **single-index model** is the simplest function with a hidden feature. The input $x\sim N(0,I_d)$ is large, the
# label looks at one direction of it:
#
# $$ y = g(h), \qquad h=\langle w_*,x\rangle, \qquad |w_*|=1. $$
#
# The link $g$ may be known; the direction $w_*$ is not. Somebody who knows $w_*$ has a problem in one dimension.
# Somebody who does not has to find $d-1$ angles first. To *learn the feature* is to find $w_*$, and this course is
# about what that costs.
#
# This chapter makes the one tool of the whole course, the Hermite expansion, and uses it to see what a method pays
# that never looks for $w_*$.

# %%
import math
import os

import matplotlib.pyplot as plt
import numpy as np

import featlab
from agreement import chance, mean_and_error  # docs/course/agreement.py
from featlab.gaussian import hermite_all

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(1)

# %% [markdown]
# ## Hermite polynomials
#
# They are defined by one line,
#
# $$ e^{tz-t^2/2}=\sum_{k\ge0}\frac{t^k}{k!}\,\mathrm{He}_k(z):\qquad
# \mathrm{He}_0=1,\; \mathrm{He}_1=z,\; \mathrm{He}_2=z^2-1,\; \mathrm{He}_3=z^3-3z,\dots $$
#
# Let $u,v$ be standard Gaussians with correlation $m$. Then $E\,e^{tu-t^2/2}\,e^{sv-s^2/2}=e^{tsm}$, since
# $tu+sv\sim N(0,t^2+s^2+2tsm)$. Compare the powers of $t$ and $s$ on both sides:
#
# $$ \boxed{\;E[\mathrm{He}_j(u)\,\mathrm{He}_k(v)] = k!\,m^k\,\delta_{jk}\;} $$
#
# With $m=1$ this says that they are orthogonal; so every $g$ with $E\,g^2<\infty$ is $g=\sum_k c_k\mathrm{He}_k$ with
# $c_k=E[g\,\mathrm{He}_k]/k!$, and $E\,g^2=\sum_k k!\,c_k^2$. With $m<1$ it says that degree $k$ of a function on the
# sphere of directions is seen through a *power* $m^k$ of the overlap. A random direction has $m\sim d^{-1/2}$: high
# degrees are dim from afar. Everything that follows comes from this box. We check it, as we shall check every formula:
# by numbers that could disagree.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(60)
weights = weights / weights.sum()  # E[f(z)] = weights @ f(nodes), exact for polynomials of degree < 120

table = hermite_all(6, nodes)  # the row k is He_k at the nodes
assert np.allclose(table[3], nodes**3 - 3 * nodes)

m = 0.6
second = m * nodes[:, None] + np.sqrt(1 - m**2) * nodes[None, :]  # v = m u + sqrt(1 - m^2) u', on a grid of (u, u')
products = np.einsum("a,b,ja,kab->jk", weights, weights, table, hermite_all(6, second))
expected = np.diag([math.factorial(k) * m**k for k in range(7)])
assert np.allclose(products, expected, atol=1e-9)
print(np.round(np.diag(products), 4))

# %% [markdown]
# The coefficients of a link with a kink converge slowly under such a rule. `featlab` cuts its integrals at the kinks;
# `energies.per_degree` is $k!\,c_k^2$, the share of each degree in $E\,y^2$.

# %%
links = {"tanh": "tanh(h1)", "relu": "relu(h1)", "He3": "He3(h1)/sqrt(6)"}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
z = np.linspace(-3, 3, 301)
for place, (name, text) in enumerate(links.items()):
    target = featlab.target(text)
    energies = featlab.analyse(target).energies.per_degree[:8]
    left.plot(z, target.link(z[:, None]), label=name)
    right.bar(np.arange(8) + 0.25 * (place - 1), energies, width=0.25)
left.set(xlabel="h", ylabel="y", title="links", ylim=(-3, 3))
left.legend()
right.set(xlabel="degree k", ylabel="$k!\\,c_k^2$", title="their energies")
figure.tight_layout()

relu = featlab.analyse(featlab.target("relu(h1)")).energies.per_degree
assert np.allclose(relu[:4], [1 / (2 * np.pi), 1 / 4, 1 / (4 * np.pi), 0], atol=1e-10)

# %% [markdown]
# ## A method that never looks for the direction
#
# Kernel ridge regression fits $f(x)=\sum_i a_i\,k(x,x_i)$ with $a=(K+n\lambda)^{-1}y$. Take
# $k(x,x')=\exp(\langle x,x'\rangle/d)$, or any other function of the inner product: infinitely wide networks that move
# little are of this kind. Such a kernel is the same from all sides. It gives every polynomial of degree $k$ in the *d*
# coordinates the same weight, and there are
#
# $$ \binom{d+k-1}{k}\approx \frac{d^k}{k!} $$
#
# of them. It cannot know that the label needs only one. From $n$ samples one cannot determine more than $n$ numbers;
# so degree $k$ is out of reach until $n\sim d^k$. Precisely (Ghorbani et al. 2021; Mei, Misiakiewicz, Montanari 2022):
# at $n=d^{\kappa}$, $\kappa$ not whole, the best ridge leaves
#
# $$ E(f-g)^2\;\to\;\sum_{k>\kappa}k!\,c_k^2 . $$
#
# We take a target that has a third of its variance in each of the degrees 1, 2 and 3, write the kernel in six lines,
# and lay it over the prediction at finite $d$ (`featlab.predict`: one effective eigenvalue for each degree).
#
# When do the two agree? A mean over $s$ runs has a standard error, which is itself estimated. The number of standard
# errors that one of $P$ points exceeds by chance in one case of a hundred is therefore a quantile of Student's law with
# $s-1$ degrees of freedom, at $1-0.005/P$ (two sides, $P$ points): `chance(P, s)`. We allow that and nothing else, and
# ask that a prediction which is 25% off be refused by the same rule. The equivalent drops terms of relative order
# $1/d$; here they are smaller than the error bars. From chapter 2 on they are not, and will be taken out.

# %%
TEXT = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
g = featlab.target(TEXT).link
RIDGE = 1e-4


def kernel_risk(dim, samples, fresh=4000):
    """Kernel ridge regression from scratch: the risk on fresh samples. The hidden direction is the first axis."""
    x, x_new = draw.standard_normal((samples, dim)), draw.standard_normal((fresh, dim))
    y, y_new = g(x[:, :1]), g(x_new[:, :1])
    fitted = np.linalg.solve(np.exp(x @ x.T / dim) + samples * RIDGE * np.eye(samples), y)
    return np.mean((np.exp(x_new @ x.T / dim) @ fitted - y_new) ** 2)


dim, seeds = (20, 8) if SMALL else (40, 12)
counts = [20, 60, 200, 600] if SMALL else [20, 40, 80, 160, 320, 640, 1280]
risks = np.array([[kernel_risk(dim, n) for _ in range(seeds)] for n in counts])
means, errors = mean_and_error(risks)


def predicted(dim, samples, ridge=RIDGE):
    return float(featlab.predict(TEXT, featlab.KernelRidge("exponential", ridge), dim=dim, samples=samples).risk[0])


theory = np.array([predicted(dim, n) for n in counts])
allowed = chance(len(counts), seeds)
apart = np.abs(means - theory) / errors
print(f"standard errors apart: {apart.round(1)}, allowed {allowed:.1f}")
assert apart.max() < allowed
assert np.max(np.abs(means - 1.25 * theory) / errors) > allowed

# %%
figure, axes = plt.subplots(figsize=(7, 3.4))
powers = np.linspace(0.3, 3.6, 34)
axes.errorbar(np.log(counts) / np.log(dim), means, 2 * errors, fmt="ko", label=f"measured, d = {dim}")
for at, colour in ((dim, "C0"), (10**3, "C1"), (10**9, "C3")):
    ridge = RIDGE if at == dim else "leave-one-out"
    curve = [predicted(at, int(at**power), ridge) for power in powers]
    axes.plot(powers, curve, colour, label=f"predicted, d = {at:,}")
for degree in (1, 2, 3):
    axes.axhline(1 - degree / 3, color="0.8", lw=0.8, zorder=0)
axes.axhline(0, color="C2", ls="--", label="who knows $w_*$: four samples")
axes.set(xlabel="$\\kappa=\\log n/\\log d$", ylabel="risk", ylim=(-0.05, 1.3))
axes.legend(fontsize=8)
figure.tight_layout()

stairs = [predicted(10**9, int(10 ** (9 * power)), "leave-one-out") for power in (0.5, 1.5, 2.5)]
assert np.allclose(stairs, [1, 2 / 3, 1 / 3], atol=0.01)

# %% [markdown]
# At $d=10^9$ the staircase is there: nothing below $n=d$, one third between $d$ and $d^2$, two thirds up to $d^3$. At
# the dimension that fits in a computer its steps run into each other, which is why one should not read exponents off
# one picture. The dashed line is what the same function costs with its direction known: a cubic has four coefficients.
#
# **The gap between the two is the subject.** Finding $w_*$ would turn $d^3$ into 4. The question is what finding
# costs.
#
# ## Exercises
#
# **1.** How much of $E\,y^2$ can a linear predictor (with a constant) never explain, for $g=\tanh$ and
# $g=\mathrm{relu}$?

# %% tags=["solution"]
# Linear predictors have the degrees 0 and 1, so that what is left is E g^2 - c_0^2 - c_1^2.
left_over = {}
for name in ("tanh(h1)", "relu(h1)"):
    found = featlab.analyse(featlab.target(name)).energies
    left_over[name] = found.variance + found.per_degree[0] - found.per_degree[:2].sum()
print({name: round(float(value), 5) for name, value in left_over.items()})
assert np.allclose(list(left_over.values()), [0.02742, 1 / 4 - 1 / (2 * np.pi)], atol=1e-5)

# %% [markdown]
# **2.** Show that $\mathrm{He}_k'=k\,\mathrm{He}_{k-1}$, and hence *Stein's lemma*, $E[z\,f(z)]=E[f'(z)]$. Check both.

# %% tags=["solution"]
# Differentiate the generating function in z: it is multiplied by t, so He_k'/k! = He_(k-1)/(k-1)!. Then E[f'] is the
# coefficient of He_0 in sum c_k k He_(k-1), which is c_1 = E[z f].
step = 1e-5
slope = (hermite_all(6, nodes[20:40] + step) - hermite_all(6, nodes[20:40] - step)) / (2 * step)
assert np.allclose(slope[1:], np.arange(1, 7)[:, None] * hermite_all(5, nodes[20:40]), atol=1e-4)
assert np.isclose(weights @ (nodes * np.tanh(nodes)), weights @ (1 / np.cosh(nodes) ** 2), atol=1e-6)

# %% [markdown]
# **3.** A kernel method is to explain 90% of $\mathrm{sign}(h)$ in $d=1000$. How many samples, to leading order? And
# if its direction were known?

# %% tags=["solution"]
# Degree k needs d^k samples, and sign has energy in odd degrees that falls slowly.
energies = featlab.analyse(featlab.target("sign(h1)")).energies.per_degree
degree = int(np.argmax(np.cumsum(energies) >= 0.9))
print(f"degree {degree}: n ~ d^{degree}; with the direction known, two samples of different sign")
assert degree > 3
assert np.isclose(energies[1], 2 / np.pi)
assert np.isclose(energies[3], (2 / np.pi) / 6)

# %% [markdown]
# ## What is still open
#
# - The staircase is proved for inputs uniform on a sphere or a cube, Gaussian ones, and for kernels of the inner
#   product. What plays the role of *degree* for images or text is not known; chapter 7 has the first step, one large
#   direction.
# - At $n\asymp d^k$ exactly, the risk has a limit with peaks of its own (Xiao et al. 2022, Misiakiewicz 2022). That a
#   finite, trained network beats the kernel of its start is shown for the targets of this course, not for "real" ones.
#
# **Papers.** Ghorbani, Mei, Misiakiewicz, Montanari 2021 (1904.12191). Mei, Misiakiewicz, Montanari 2022 (2101.10588).
# In featlab: [kernels](../../kernels.md), [notation](../../notation.md). Next:
# [the information exponent](02_information_exponent.md).
