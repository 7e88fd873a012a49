"""More targets of the literature, each with what its source says and nothing else."""

from __future__ import annotations

from featlab.targets.literature import CatalogueEntry, easy, hard, trivial

# Hat function of Bietti et al., shifted by one; Phi and phi are the normal distribution function and density.
_HATS = "relu(h1 + 1) - 2*relu(h1) + 2*relu(h1 - 2) - relu(h1 - 3)"
_FIRST = "(0.5*erf(1/sqrt(2)) - 1/2 + 1 - erf(2/sqrt(2)) - 0.5 + 0.5*erf(3/sqrt(2)))"
_SECOND = "(exp(-1/2) - 2 + 2*exp(-2) - exp(-9/2))/sqrt(2*pi)/2"
_MEAN = f"(0.5*erf(1/sqrt(2)) + 2*erf(2/sqrt(2)) - 1.5*erf(3/sqrt(2)) + 2*{_SECOND})"
_CENTRED = f"{_HATS} - {_MEAN}"


def _entry(name: str, text: str, words: str, citations: str, **said: object) -> CatalogueEntry:
    return CatalogueEntry(name, text, words, tuple(citations.split()), **said)  # type: ignore[arg-type]


_SINGLE_INDEX = (
    _entry("linear", "h1", "the generalised linear model without a link", "benarous2021", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("noisy-perceptron", "sign(h1 + 0.5*xi1)", "a perceptron with noise inside the link", "troiani2024", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("sine", "sin(h1)", "a link for pictures of the feature spectrum after a giant step", "", rank=1,
           information_exponent=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("error-function", "erf(h1)", "a link whose one-step residual K* vanishes", "ba2022", rank=1,
           information_exponent=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He2", "He2(h1)", "information and generative exponent 2", "damian2024 arnaboldi2024", rank=1,
           information_exponent=2, leap=2, coordinate_leap=2, generative_exponent=2, verdict="EASY", alpha_c=0.5),
    _entry("He5", "He5(h1)", "information exponent 5, generative exponent 1", "damian2024", rank=1,
           information_exponent=5, leap=5, coordinate_leap=5, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He1-He3", "He1(h1) + He3(h1)", "a cubic with a linear part", "ba2022 mousavi2023", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He2-He3", "He2(h1) + He3(h1)", "information exponent 2", "ba2022 mousavi2023", rank=1,
           information_exponent=2, leap=2, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He1-He2-He3", "He1(h1) + He2(h1)/sqrt(2) + He3(h1)/sqrt(6)", "equal weight in three degrees",
           "mousavi2023 mei2022", rank=1, information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL"),
    _entry("steep-tanh", "tanh(3*h1)", "the outer link of the hierarchical targets", "dandi2025", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("damian-quartic", "He2(h1)/2 + He4(h1)/(4*sqrt(3))", "unit variance, learned after d^2 samples",
           "damian2022", noise=1.0, rank=1, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY"),
    _entry("damian-transfer-source", "He2(h1)/2 + He3(h1)/sqrt(12)", "pretraining target of the transfer experiment",
           "damian2022", noise=1.0, rank=1, information_exponent=2, leap=2),
    _entry("damian-transfer", "He3(h1)/sqrt(6)", "the target that is transferred to", "damian2022", noise=1.0, rank=1,
           information_exponent=3, leap=3, generative_exponent=1),
    _entry("hats", _CENTRED, "piecewise linear teacher of mean 0 and information exponent 1", "bietti2022",
           noise=1e-4, rank=1, information_exponent=1, leap=1),
    _entry("hats-two", f"{_CENTRED} - {_FIRST}*h1", "the same without its linear part: information exponent 2",
           "bietti2022", noise=1e-4, rank=1, information_exponent=2, leap=2),
    _entry("hats-three", f"{_CENTRED} - {_FIRST}*h1 - {_SECOND}*He2(h1)", "without linear and quadratic part: "
           "information exponent 3, with a third coefficient of only -0.016", "bietti2022", noise=1e-4, rank=1,
           information_exponent=3, leap=3),
    _entry("hats-centred", "relu(h1 + 2) - 2*relu(h1 + 1) + 2*relu(h1 - 1) - relu(h1 - 2)",
           "the odd, unshifted teacher", "bietti2022", rank=1, information_exponent=1, leap=1),
)  # fmt: skip

_LEAPS = (
    _entry("boolean-leap-two", "h1 + h2 + h2*h3*h4", "leap 2 in the coordinates as typed", "abbe2023",
           coordinate_leap=2, information_exponent=1),
    _entry("boolean-leap-four", "h1 + h1*h2*h3 + h2*h3*h4*h5*h6*h7", "leap 4 in the coordinates as typed", "abbe2023",
           coordinate_leap=4, information_exponent=1, rank=7),
    _entry("boolean-leap-three", "h1*h2*h3 + h2*h3*h4", "leap 3; the directions are h1 + h4, h2 and h3", "abbe2023",
           coordinate_leap=3, information_exponent=3, rank=3),
    _entry("hermite-products", "He1(h1) + He1(h1)*He2(h2) + He1(h1)*He2(h2)*He3(h3)", "leap max(1, 2, 3)", "abbe2023",
           coordinate_leap=3, information_exponent=1, rank=3),
    _entry("hermite-squares", "He2(h1) + He2(h2) + He2(h3) + He3(h1)*He8(h3)", "leap 2 in spite of degree 11",
           "abbe2023", coordinate_leap=2, information_exponent=2, rank=3),
    _entry("rotated-leap", "h1 + h2 + h1*h2", "leap 1 as typed, 2 after rotation to h1 + h2, h1 - h2", "abbe2023",
           coordinate_leap=1, leap=2, information_exponent=1, rank=2, giant_steps=(1,)),
    _entry("square-and-product", "He2(h1) + h1*h2", "no linear part: leap 2", "dandi2023 abbe2023", leap=2,
           information_exponent=2, rank=2, giant_steps=()),
    _entry("degenerate-staircase-three", "h1 + h2 + h3 + h1*h2*h3", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=3),
    _entry("perturbed-staircase-three", "h1 + 0.99*h2 + 1.01*h3 + h1*h2*h3", "the perturbed version is learned",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=3),
    _entry("degenerate-staircase-pairs", "h1 + h2 + h1*h3 + h2*h4", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
    _entry("degenerate-staircase-twins", "h1 + h1*h2 + h3 + h3*h4", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
    _entry("merged-staircase-four", "h1 + h1*h2 + h3 + h1*h2*h3*h4", "a merged staircase that is learned", "abbe2022",
           coordinate_leap=1, information_exponent=1, rank=4),
    _entry("merged-staircase-chain", "h1 + h1*h2 + h2*h3 + h3*h4 + h1*h2*h3*h4", "a merged staircase that is learned",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
)  # fmt: skip

_MULTI_INDEX = (
    _entry("squared-norm", "(h1**2 + h2**2 + h3**2 + h4**2)/4", "all four directions at alpha = 2", "defilippis2025",
           rank=4, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY", alpha_c=2.0,
           stages=(easy(2.0, 4),)),
    _entry("four-parity", "sign(h1*h2*h3*h4)", "generative exponent 4", "troiani2024 damian2025", rank=4,
           information_exponent=4, leap=4, generative_exponent=4, verdict="HARD", stages=(hard(4, 4),)),
    _entry("committee", "(relu(h1) + relu(h2) + relu(h3))/3", "a committee machine; its sources add label noise",
           "troiani2024", rank=3, information_exponent=1),
    _entry("squares-difference", "h1 + h2 + h1**2 - h2**2", "w1 + w2 first, then w1 - w2", "dandi2023", rank=2,
           information_exponent=1, leap=1, giant_steps=(1, 2)),
    _entry("giant-regimes", "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)",
           "total variance 57; what is left of it depends on samples and width", "dandi2023", rank=3,
           information_exponent=1, leap=1, giant_steps=(1, 2, 3),
           residual_variance=(("d", "1", 56.0), ("d", "d", 54.0), ("d^2", "1", 52.0), ("d^2", "d", 4.0),
                              ("d^2", "d^2", 0.0))),
    _entry("slope-quarter", "(4*h1 + h1**2 + h2)/2", "the gradient stays on a line of slope 1/4", "dandi2023", rank=2,
           information_exponent=1),
    _entry("rotating-gradient", "(h1 + h1**2 + h2 - h2**2)/2", "step one on slope 1, then towards (1, -1)", "dandi2023",
           rank=2, information_exponent=1, leap=1, giant_steps=(1, 2)),
    _entry("one-step-curve", "(He1(h1) + He2(h1)/2 + He4(h1)/24 + He1(h2) + He2(h2)/2 + He4(h2)/24)/2",
           "equal quartic teachers of the one-step learning curve", "dandi2023", rank=2, information_exponent=1),
    _entry("reuse-mixed", "tanh(h1 + He3(h2))", "two linear directions in one: the dynamical mean-field figure",
           "dandi2024", rank=2, information_exponent=1),
    _entry("short-staircase", "h1 + h1*h2", "one-pass SGD learns it as well", "dandi2024 arnaboldi2024", rank=2,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0,
           stages=(trivial(2),)),
    _entry("blocked-by-symmetry", "tanh(h1) + tanh(h2)", "reuse cannot separate equal directions", "dandi2024", rank=2,
           information_exponent=1),
    _entry("linear-and-cubic", "h1 + He3(h2)", "the cubic direction needs reuse", "arnaboldi2024", rank=2,
           information_exponent=1, leap=3),
    _entry("linear-times-cubic", "h1 + h1*He3(h2)", "h2 appears with degree 3 once h1 is known", "arnaboldi2024",
           rank=2, information_exponent=1, leap=3),
    _entry("staircase-five-square", "He2(h1) + 5*sign(h1*h2*h3)", "the published figures weigh the sign by 5",
           "arnaboldi2024", rank=3, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY"),
    _entry("staircase-five", "He4(h1) + 5*sign(h1*h2*h3)", "the published figures weigh the sign by 5",
           "arnaboldi2024", rank=3, information_exponent=3, leap=3, generative_exponent=2, verdict="EASY"),
    _entry("parity-five", "5*sign(h1*h2*h3)", "the baseline that is not learned", "arnaboldi2024", rank=3,
           information_exponent=3, leap=3, generative_exponent=3, verdict="HARD"),
    _entry("damian-two-directions", "(He2(h1) + He2(h2))/sqrt(8) + sqrt(0.5)*He2(h1)*He2(h2)/2 + h1/2",
           "two directions behind a full-rank Hessian, variance 1.25", "damian2022", rank=2, information_exponent=1),
)  # fmt: skip

EXAMPLES: tuple[CatalogueEntry, ...] = (*_SINGLE_INDEX, *_LEAPS, *_MULTI_INDEX)
