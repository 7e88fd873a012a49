# %% [markdown]
# # 8. Depth
#
# Two layers find directions. What do three find that two do not? A function made for the question (Dandi, Pesce,
# Zdeborova, Krzakala 2025) is a **tree**: many directions feed one hidden field, and the label is a function of that
# field,
#
# $$ y=g(h^*),\qquad h^*=\frac1{\sqrt D}\sum_{i=1}^{D}a_i\,P(\langle w_i^*,x\rangle),\qquad D=d^{\,e},\;a_i=\pm1 . $$
#
# To a first layer the $D$ directions can be seen, to a second one the field $h^*$; a third has a function of one
# variable left.

# %%
import os
from itertools import combinations_with_replacement

import matplotlib.pyplot as plt
import numpy as np

from agreement import chance, in_the_limit, mean_and_error
from featlab.theory import tree_limits, tree_risks, tree_thresholds

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(8)
TREE = "tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, d^0.5)"


def P(z):
    """He2/2 + He3/6; P' has the mean 0, P'' the mean 1."""
    return (z**2 - 1) / 2 + (z**3 - 3 * z) / 6


def g(h):
    return np.tanh(3 * h)


# %% [markdown]
# ## What is left to whom
#
# $h^*$ is a sum of many independent terms: as $D$ grows it becomes Gaussian, with variance $v=E\,P^2=\frac12+\frac16$.
# So does its part $h^*_{\le q}$ of degree up to $q$ in $x$, of variance $v_q$. A polynomial of degree $q$ in the
# *inputs* that fits $g(h^*)$ can, for large $D$, only be linear in $h^*_{\le q}$: products of several $P$'s have
# degree $2q$ and more. By the regression formula it leaves
#
# $$ \boxed{\;\mathrm{Var}\,y-\frac{E[g(h)\,h]^2\,v_q}{v^2}\;} $$
#
# A quadratic kernel has $q=2$. A two-layer network that knows all $w_i^*$ has $q=3$: still linear in $h^*$. Three
# layers fit $g$, and leave nothing.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(120)
weights = weights / weights.sum()
v = 1 / 2 + 1 / 6
h = np.sqrt(v) * nodes
variance, slope = weights @ g(h) ** 2, weights @ (g(h) * h)
mine = [variance - slope**2 * vq / v**2 for vq in (0, 1 / 2, v)]
found = tree_limits(TREE)
print("left by a guess, by quadratics, by two layers:", np.round(mine, 4))
assert np.allclose(mine, [found.variance, found.of_degree(2), found.two_layers], atol=1e-4)
assert np.allclose(mine, [0.6939, 0.2723, 0.1318], atol=2e-4)  # numbers of the paper's setting

# %% [markdown]
# ## Finding the directions
#
# Correlate the label with quadratics. By Stein's lemma twice, for large $D$,
#
# $$ E[\,y\,(xx^{\mathsf T}-I)\,]=s\sum_i a_i\,w_i^*w_i^{*\mathsf T},\qquad s=\frac{E[g'(h)]\;E[P'']}{\sqrt D}. $$
#
# The empirical matrix adds noise, a symmetric matrix whose spectrum ends at $2\tau$, $\tau^2=E[y^2]\,d/n$. A spike of
# strength $s$ in such a matrix is seen iff $s>\tau$, and its eigenvector then has the squared cosine $1-\tau^2/s^2$
# with $w_i^*$ (Baik, Ben Arous, Péché again, now for symmetric matrices). So
#
# $$ \boxed{\;n>\frac{E[y^2]}{E[g'(h)]^2}\;d\,D\;}\qquad\text{and}\qquad
# \cos^2=1-\frac{E[y^2]}{E[g']^2}\cdot\frac{d\,D}{n}: $$
#
# $n\sim d\,D=d^{\,1+e}$ samples, where a kernel needs $d^2$ and $d^3$ to see the same terms.


# %%
def sample(n, dim, D):
    """Inputs, the label and the hidden field of a tree with alternating signs; the directions are the first D axes."""
    X = draw.standard_normal((n, dim))
    hidden = P(X[:, :D]) @ np.resize([1.0, -1.0], D) / np.sqrt(D)
    return X, g(hidden), hidden


def directions(X, y, D):
    """The D eigenvectors of mean(y (x x^T - I)) with the largest absolute eigenvalues."""
    matrix = (X * y[:, None]).T @ X / len(X) - y.mean() * np.eye(X.shape[1])
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.argsort(-np.abs(values))[:D]]


gain = weights @ (3 / np.cosh(3 * h) ** 2)  # E g'
assert np.isclose(gain, slope / v, atol=1e-4)  # Stein: E[g h] = v E[g']
constant = variance / gain**2
D, seeds = 8, 8
dims = [60, 120] if SMALL else [100, 200, 400]
ratios = np.array([2.0, 6.0, 20.0]) if SMALL else np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
figure, axes = plt.subplots(figsize=(6.5, 3.4))
shares = {}
for dim, colour in zip(dims, ("C0", "C1", "C2"), strict=False):
    shares[dim] = np.array(
        [
            [np.sum(directions(*sample(int(r * dim * D), dim, D)[:2], D)[:D] ** 2) / D for _ in range(seeds)]
            for r in ratios
        ]
    )
    mean, error = mean_and_error(shares[dim])
    axes.errorbar(ratios, mean, 2 * error, fmt=colour + "o-", lw=0.6, label=f"d = {dim}, D = {D}")
fine = np.geomspace(ratios[0], ratios[-1], 100)
axes.plot(fine, np.maximum(0, 1 - constant / fine), "k--", label="limit of large D and d/D")
axes.set(xscale="log", xlabel="n/(d D)", ylabel="share of $W^*$ that is found", ylim=(0, 1))
axes.legend(fontsize=8)
figure.tight_layout()

# %% [markdown]
# Above the threshold, curves at different $d$ lie on each other when drawn against $n/(dD)$, and a little below the
# limit, since at $D=8$ the field is not quite Gaussian. (Below it, a random subspace contains $D/d$ of $W^*$ for
# nothing.) Far above, where the noise is a small perturbation, the law can be made exact: to first order an eigenvector
# loses $\frac dn\,E[y^2x_i^2]/s^2$ of its squared length, with $s=|E[\,y\,(x_i^2-1)]|$, and both averages need only
# the $D$ coordinates that enter. What is left out is of the order of the square of that loss.

# %%
few, y, _ = sample(400_000, D, D)
parts = (y[:, None] * (few**2 - 1)).reshape(20, -1, D).mean(1) * np.resize([1.0, -1.0], D)
strength, strength_error = mean_and_error(parts.mean(1))
loss = np.mean(y[:, None] ** 2 * few**2) / (D * strength**2 * ratios[-1])
told_error = 2 * loss * strength_error / strength
limit, error = in_the_limit(shares[dims[-2]][-1], shares[dims[-1]][-1])
print(f"n = {ratios[-1]:.0f} d D: measured {limit:.3f} ± {error:.3f}, told {1 - loss:.3f}", end="; ")
print(f"for D large {1 - constant / ratios[-1]:.3f}")
allowed = chance(1, seeds) * np.hypot(error, told_error) + loss**2
assert abs(limit - (1 - loss)) < allowed
assert abs(limit - (1 - 2 * loss)) > allowed

# %% [markdown]
#
# ## Then the field, then the function
#
# With $D$ directions known, everything else is a problem in $D$ dimensions. A second layer on features of them fits
# $\hat h$, the best polynomial of degree 3 in the $D$ coordinates: as we saw, that is $h^*$ times a number, plus
# errors. A third layer fits one function of one variable, $\hat h\mapsto y$. All by least squares, each on samples of
# its own.


# %%
def polynomials(Z):
    """All monomials up to degree 3 in the columns of Z."""
    powers = [c for degree in range(4) for c in combinations_with_replacement(range(Z.shape[1]), degree)]
    return np.stack([np.prod(Z[:, list(c)], axis=1) for c in powers], axis=1)


def three_layers(n, dim, D):
    """Risk / Var y after the second and after the third layer, and the correlation of h_hat with h*."""
    X, y, _ = sample(n, dim, D)
    W = directions(X, y, D)
    X, y, _ = sample(n, dim, D)
    features = polynomials(X @ W)
    fitted = np.linalg.solve(features.T @ features + 1e-6 * n * np.eye(features.shape[1]), features.T @ y)
    X, y, _ = sample(n, dim, D)
    last = np.polynomial.Polynomial.fit(polynomials(X @ W) @ fitted, y, 5)
    X, y, hidden = sample(20_000, dim, D)
    field = polynomials(X @ W) @ fitted
    seen = np.clip(field, *last.domain)  # a polynomial is nothing outside of where it was fitted
    return (
        np.mean((y - field) ** 2) / y.var(),
        np.mean((y - last(seen)) ** 2) / y.var(),
        np.corrcoef(field, hidden)[0, 1],
    )


dim, D, seeds = (30, 4, 4) if SMALL else (60, 5, 6)
counts = np.array([1000, 6000]) if SMALL else np.array([600, 1200, 2500, 5000, 10_000, 20_000])
table = np.array([[three_layers(int(n), dim, D) for _ in range(seeds)] for n in counts])
mean, error = mean_and_error(np.moveaxis(table, 1, -1))
figure, axes = plt.subplots(figsize=(6.5, 3.4))
for column, (name, colour) in enumerate((("two layers", "C0"), ("three layers", "C3"))):
    axes.errorbar(counts / (dim * D), mean[:, column], 2 * error[:, column], fmt=colour + "o-", label=name)
quadratics = 1 - slope**2 * (1 / 2) / v**2 / variance
axes.axhline(quadratics, color="0.6", ls=":", label="all quadratics, D large, n infinite")
axes.set(xscale="log", xlabel="n/(d D)", ylabel="risk / Var y", ylim=(0, 1.1))
axes.tick_params(axis="x", which="minor", labelbottom=False)
axes.legend(fontsize=8)
figure.tight_layout()
print("two, three layers, corr(h_hat, h*):", mean[-1].round(3), "±", error[-1].round(3))
gained, gained_error = mean_and_error(table[-1, :, 0] - table[-1, :, 1])
assert gained > chance(1, seeds) * gained_error

# %% [markdown]
# The third layer takes what the second cannot. The same with neurons, gradient steps and a preconditioner is
# `featlab.Layerwise`; that it works from $n\sim d^{\max(1+e,\,ke)}$ samples, $k$ the degree of $P$, is the theorem of
# the paper.

# %%
powers = tree_thresholds(TREE)
print(f"powers of d: directions {powers.directions}, field {powers.hidden}, a kernel {powers.kernel}")
kappas = [0.8, 1.0, 1.5, 2.0, 3.0, 3.2]  # nothing happens in between
risks = [tree_risks(TREE, kappa) for kappa in kappas]
figure, axes = plt.subplots(figsize=(6.5, 3))
for name, style in (("kernel", "C2"), ("two_layers", "C0"), ("three_layers", "C3")):
    axes.step(kappas, [getattr(risk, name) for risk in risks], style, where="post", label=name.replace("_", " "))
axes.set(xlabel="$\\kappa=\\log n/\\log d$", ylabel="risk / Var y, $d\\to\\infty$")
axes.legend()
figure.tight_layout()
assert (powers.directions, powers.hidden) == (1.5, 1.5)
assert np.isclose(risks[3].kernel, mine[1] / mine[0], atol=1e-3)

# %% [markdown]
# ## Exercises
#
# **1.** How fast does $h^*$ become Gaussian? Compute the excess kurtosis of $P(z)$, predict that of $h^*$ at $D=10$,
# and measure it.

# %% tags=["solution"]
# Cumulants of independent terms add: the fourth of a sum of D terms over sqrt(D) is 1/D of that of one, in units of the
# variance squared.
excess = weights @ P(nodes) ** 4 / v**2 - 3
_, _, hidden = sample(200_000, 10, 10)
mean, error = mean_and_error([np.mean(part**4) / v**2 - 3 for part in hidden.reshape(20, -1)])  # the variance is known
print(f"{excess / 10:.2f} told, {mean:.2f} ± {error:.2f} measured")
assert abs(mean - excess / 10) < chance(1, 20) * error
assert abs(mean - excess / 5) > chance(1, 20) * error

# %% [markdown]
# **2.** Without $\mathrm{He}_2$ in $P$, say $P=\mathrm{He}_3/6$: what does $E[y(xx^{\mathsf T}-I)]$ show, and what
# would a first layer need?

# %% tags=["solution"]
# E[P''] = 0: nothing. Order 3 in each direction: a tensor of strength D^(-1/2), against the noise of order-3
# correlations. By chapter 2 a neuron needs about d^2 samples instead of d at D = 1. The information exponent of P has
# to be 2 in the theorem, and this is why.
X = draw.standard_normal((20_000, 40))
y = g(np.sum((X[:, :4] ** 3 - 3 * X[:, :4]) / 6 * np.resize([1.0, -1.0], 4), axis=1) / 2)
share = np.sum(directions(X, y, 4)[:4] ** 2) / 4
reference = np.sum(directions(*sample(20_000, 40, 4)[:2], 4)[:4] ** 2) / 4
print(f"share of W* found: {share:.2f}; with He2 {reference:.2f}; by chance {4 / 40}")
assert share < 0.4 < 0.9 < reference

# %% [markdown]
# **3.** For which $e$ and degree $k$ of $P$ do three layers still need fewer samples than a kernel of degree $k$? When
# does finding the field cost more than finding the directions?

# %% tags=["solution"]
# A kernel needs d^k. max(1 + e, k e) < k for all e < 1 and k >= 2. k e > 1 + e iff e > 1/(k - 1).
for e, k_text, degree in ((0.25, "He2(h1)", 2), (0.75, "He2(h1) + He3(h1)", 3)):
    told = tree_thresholds(f"tree(tanh(h1), {k_text}, d^{e})")
    assert told.hidden == max(1 + e, degree * e) < told.kernel[degree]
    assert (told.hidden > told.directions) == (e > 1 / (degree - 1))

# %% [markdown]
# ## What is still open
#
# - Nobody has shown that two layers *cannot* do better: the separation is between algorithms that are analysed, layer
#   by layer, with fresh samples and a preconditioner.
# - Trained all at once, deep networks do learn such trees faster than shallow ones (in experiments). The dynamics of
#   that is out of reach today.
# - Where in nature is the hierarchy of trees? A test that tells from data whether depth would help does not exist.
#
# **Papers.** Dandi, Pesce, Zdeborova, Krzakala 2025 (2502.13961). In featlab: [depth](../../depth.md), with runs of
# the networks themselves. Next: [your own target](09_your_own_target.md).
