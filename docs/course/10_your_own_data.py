# %% [markdown]
# # 10. Your own data
#
# So far the truth was known. Now there is a table: inputs $X$, labels $y$, nobody's link and nobody's directions. The
# same ideas become statistics, some of them decades old: look at the inputs *given the label*, and ask how much noise
# alone would show.
#
# This chapter needs `pip install "featlab[sklearn]"`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom
from sklearn.datasets import load_diabetes

import featlab
from agreement import chance, mean_and_error
from featlab.estimators import KernelRidge, MultiIndexRegressor, SlicedAverageVariance, SlicedInverseRegression

SMALL = os.environ.get("FEATLAB_COURSE") == "small"
draw = np.random.default_rng(10)

# %% [markdown]
# ## Sliced inverse regression
#
# Let $x\sim N(0,I_d)$ (whiten first) and let $y$ depend on $x$ through $h=W_*x$ only. Then
# $E[x\mid y]=W_*^{\mathsf T}E[h\mid y]$: *the mean of the inputs at a given label lies in the span of the directions*
# (Li 1991). It is chapter 5's $E[z\mid y]$, as a vector. Cut the labels into $S$ slices of $n/S$ samples; the matrix
#
# $$ M=\frac1S\sum_{s}\bar x_s\bar x_s^{\mathsf T},\qquad \bar x_s=\text{mean of }x\text{ in slice }s, $$
#
# has the large eigenvalues $\lambda_1^2$ along what $E[h\mid y]$ shows. And noise? Without any dependence the
# $\bar x_s$ are $N(0,\frac Sn I)$, and $M$ is $\frac1n$ times a Wishart matrix with $S$ degrees of freedom, whose
# largest eigenvalue is near
#
# $$ \boxed{\;\frac1n\big(\sqrt d+\sqrt{S}\big)^2\;} $$
#
# A direction is seen iff it stands above that.


# %%
def sliced(X, y, slices=10):
    """Eigenvalues, largest first, and eigenvectors (columns) of the slice means."""
    means = np.array([X[part].mean(0) for part in np.array_split(np.argsort(y), slices)])
    values, vectors = np.linalg.eigh(means.T @ means / slices)
    return values[::-1], vectors[:, ::-1]


n, d, S = 2000, 200, 10
tops = np.array(
    [sliced(draw.standard_normal((n, d)), draw.standard_normal(n), S)[0][0] for _ in range(8 if SMALL else 30)]
)
edge = (np.sqrt(d) + np.sqrt(S)) ** 2 / n
# At finite sizes the mean lies 1.2065 widths below: the law of Tracy and Widom, with the width of Johnstone 2001.
width = (np.sqrt(d) + np.sqrt(S)) * (1 / np.sqrt(d) + 1 / np.sqrt(S)) ** (1 / 3) / n
told, (mean, error) = edge - 1.2065 * width, mean_and_error(tops)
print(f"largest eigenvalue of noise: edge {edge:.4f}, told {told:.4f}, measured {mean:.4f} ± {error:.4f}")
assert abs(mean - told) < chance(1, len(tops)) * error
assert abs(mean - (np.sqrt(d) + np.sqrt(2 * S)) ** 2 / n) > chance(1, len(tops)) * error

# %% [markdown]
# A label with two directions, one of them even: $y=\tanh(2h_1)+\frac12h_2^2+$ noise. The first has $E[h_1\mid y]\ne0$.
# Of the second only the square shows: $E[h_2\mid y]=0$ by symmetry, and SIR is blind to it, at any $n$. What moves is
# the *covariance* of $x$ given $y$, and that is sliced average variance estimation, SAVE (Cook, Weisberg 1991): order
# 2 of chapter 5.

# %%
X = draw.standard_normal((n, 30))
y = np.tanh(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * draw.standard_normal(n)
values, vectors = sliced(X, y)
save = SlicedAverageVariance(2, random_state=0).fit(X, y)
seen = {
    "SIR": np.sqrt((vectors[:2, :2] ** 2).sum(1)),
    "SAVE": np.sqrt(((np.linalg.qr(save.directions_.T)[0])[:2] ** 2).sum(1)),
}
print({name: share.round(2).tolist() for name, share in seen.items()})
assert seen["SIR"][0] > 0.95
assert seen["SIR"][1] < 0.7 < 0.95 < seen["SAVE"][1]  # the second vector of SIR is noise

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
left.plot(values, "ko", ms=3)
left.axhline((np.sqrt(30) + np.sqrt(10)) ** 2 / n, color="C3", ls="--", label="edge of noise")
left.set(yscale="log", ylim=(1e-5, 1), xlabel="eigenvalue of SIR", title="one direction")
left.legend()
right.scatter(X @ vectors[:, 0], y, s=3, alpha=0.4)
right.set(xlabel="$\\hat w_1\\cdot x$", ylabel="y", title="the label along it")
figure.tight_layout()

theirs = SlicedInverseRegression(1, random_state=0).fit(X, y).directions_[0]
assert abs(theirs @ vectors[:, 0]) > 0.98  # they whiten first, and choose their own slices

# %% [markdown]
# ## How many? Ask permutations
#
# Theory assumes Gaussian inputs. A permutation does not: *exchange the labels between rows, and nothing is left but
# chance*. If the largest eigenvalue is among the 5% largest of those after exchanges, there is a direction, whatever
# law the inputs have.


# %%
def p_value(X, y, exchanges=99):
    top = sliced(X, y)[0][0]
    return (1 + sum(sliced(X, draw.permutation(y))[0][0] >= top for _ in range(exchanges))) / (1 + exchanges)


few = 300
heavy = draw.standard_t(4, (few, 10))
print(f"a label that depends on x: p = {p_value(heavy, np.tanh(heavy[:, 0]) + draw.standard_normal(few)):.2f}")
noise = np.array([p_value(heavy, draw.standard_normal(few), 39) for _ in range(40 if SMALL else 200)])
print(f"noise: p below 0.05 in {np.mean(noise <= 0.05):.1%} of {len(noise)} tables")
assert p_value(heavy, np.tanh(heavy[:, 0]) + draw.standard_normal(few)) == 0.01
assert np.sum(noise <= 0.05) <= binom.isf(0.01, len(noise), 0.05)  # so many are exceeded by chance in 1% of all cases

# %% [markdown]
# ## A diagnosis
#
# `featlab.diagnose` does this for one direction after the other, at orders 1 and 2, with functions of the label; looks
# at the inputs first; estimates the exponents along directions that *other* rows have found, with intervals; and says
# whether $n$ is enough. First where the truth is known, our table above.

# %%
found = featlab.diagnose(X, y, curves=False)
steps = found.findings.directions.search.steps
loadings = found.findings.directions.loadings
print(repr(found))
print("orders:", [step.order for step in steps], "| columns:", [int(np.argmax(np.abs(row))) + 1 for row in loadings])
assert [int(np.argmax(np.abs(row))) for row in loadings] == [0, 1]
assert [step.order for step in steps] == [1, 2]

# %% [markdown]
# Now a table of which nobody knows the truth: 442 patients, ten measurements, and the progress of their diabetes after
# a year (Efron et al. 2004; it comes with scikit-learn).

# %%
patients, progress = load_diabetes(return_X_y=True, as_frame=True)
diabetes = featlab.diagnose(patients, progress, label="progress", curves=False)
print(repr(diabetes))
direction = diabetes.findings.directions
print(
    "orders:", [step.order for step in direction.search.steps], "| next direction: p =", direction.search.next_p_value
)
for column, weight in sorted(zip(patients.columns, direction.loadings[0], strict=True), key=lambda pair: -abs(pair[1]))[
    :5
]:
    print(f"  {weight:+.2f} {column}")
assert direction.count == 1
assert direction.search.steps[0].order == 1

field = (patients - patients.mean()) / patients.std() @ direction.loadings[0]
field *= np.sign(np.corrcoef(field, progress)[0, 1])
figure, axes = plt.subplots(figsize=(5.5, 3.2))
axes.scatter(field, progress, s=6, alpha=0.5)
line = np.linspace(field.min(), field.max(), 50)
axes.plot(line, np.polynomial.Polynomial.fit(field, progress, 3)(line), "C3")
axes.set(xlabel="the direction found", ylabel="progress of the disease")
figure.tight_layout()

# %% [markdown]
# One direction, at order 1, and nearly a straight line: of this table a linear model has seen what there is to be seen
# from 442 rows. That is a result, too. (Signs and sizes of single loadings mean little where columns are as correlated
# as `s1` and `s2` are.)
#
# ## Exercises
#
# **1.** Shuffle the labels of the diabetes data and diagnose again. How often may a direction be found?

# %% tags=["solution"]
# At most one time in twenty. Three shuffles find none here; with 100 of them, about five should.
counts = []
for seed in range(3):
    shuffled = np.random.default_rng(seed).permutation(progress)
    counts.append(featlab.diagnose(patients, shuffled, curves=False).findings.directions.count)
print("directions in shuffled labels:", counts)
assert sum(count > 0 for count in counts) <= 1

# %% [markdown]
# **2.** For $y=h_1h_2+h_1$ in $d=80$: compare a kernel with "find two directions, then fit a smooth function of them",
# on fresh samples. Where is the difference from?


# %% tags=["solution"]
# Chapter 1: from n = 10 d samples a kernel has degree 1 and a part of degree 2, whose d^2/2 coefficients are more than
# n. Two directions are 160 numbers.
def table(n):
    X = draw.standard_normal((n, 80))
    return X, X[:, 0] * X[:, 1] + X[:, 0] + 0.1 * draw.standard_normal(n)


train, fresh = table(800), table(2000)
scores = {
    "kernel": KernelRidge().fit(*train).score(*fresh),
    "directions": MultiIndexRegressor(SlicedInverseRegression(2, random_state=0)).fit(*train).score(*fresh),
}
print({name: round(float(score), 2) for name, score in scores.items()})
assert scores["directions"] > scores["kernel"] + 0.1

# %% [markdown]
# **3.** What does `diagnose` say of $\mathrm{sign}(h_1h_2h_3)$ from 2000 samples in $d=10$, and why is it right to say
# so?

# %% tags=["solution"]
# "No direction": orders 1 and 2 of every function of the label vanish (chapter 9, exercise 1). Its generative exponent
# is 3, and n ~ d^(3/2) would be needed by a method that looks at order 3. A diagnosis says what it can see, not what
# there is.
X = draw.standard_normal((2000, 10))
hidden = featlab.diagnose(X, np.sign(X[:, :3].prod(1)), curves=False)
print(repr(hidden))
assert hidden.findings.directions.count == 0

# %% [markdown]
# ## What is still open
#
# - Orders, exponents and thresholds are defined by Gaussian inputs. For yours they are a guide; a theory of
#   single-index models on *data* (mixtures, manifolds, heavy tails) has only begun.
# - That there is any direction is tested for every law of inputs; that there are not more than so many is not.
# - Learning a representation on one task to use it on another (`PreprocessedStep(transfer=...)`) is where finding
#   directions should pay most. Few theorems, many experiments.
#
# **Papers.** Li 1991, Cook and Weisberg 1991, Cook and Yin 2001, Efron et al. 2004. In featlab:
# [your data](../../your-data.md), [estimators](../../estimators.md),
# [dimension reduction](../../dimension-reduction.md). Next: [your own runs](../../your-own-runs.md), or
# [the list of all chapters](../index.md).
