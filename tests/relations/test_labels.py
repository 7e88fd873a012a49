"""What must hold between targets whose labels tell the same: verdict, generative exponent and critical ratio agree.

A strictly monotone function of the label, other names of the directions, a rotation and the place where Gaussian noise
is written change what correlations see, or nothing at all, but never what a function of the label can find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from featlab.analysis import Analysis, Verdict, analyse
from featlab.analysis.staircase import Kind
from featlab.targets import Target, target

# The draws are the same every time; an analysis of two directions takes half a second and more.
FEW = settings(max_examples=2, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate])
MORE = settings(FEW, max_examples=8)

sizes = st.sampled_from([0.25, 0.5, 1.0, 1.5, 3.0])
one_direction = st.one_of(
    st.builds("He2(h1) + {}*He4(h1)".format, sizes),
    st.builds("{}*h1 + He2(h1)".format, sizes),
    st.builds("He4(h1) - {}*He2(h1)".format, sizes),
    st.builds("abs(h1) - {}*h1**2".format, sizes),
    st.builds("sign(h1**2 - {})".format, sizes),
    st.builds("abs(h1 - {}) + abs(h1 + 1)".format, sizes),
)
two_directions = st.one_of(
    st.builds("h1*h2 + {}*h1**2".format, sizes),
    st.builds("h1**2 + {}*h2**2".format, st.sampled_from([0.25, 0.5, 1.5, 3.0])),
    st.builds("sign(h1*h2) + {}*h1**2".format, sizes),
    st.builds("{}*h1 + abs(h2)".format, sizes),
    st.builds("abs(h1) - {}*abs(h2)".format, sizes),
)
any_target = st.one_of(one_direction, two_directions)


def same(first: Analysis, second: Analysis) -> None:
    """The two say the same, the critical ratios within three times their stated errors, which are estimates."""
    assert (first.verdict, first.generative_exponent) == (second.verdict, second.generative_exponent)
    assert len(first.grand_staircase) == len(second.grand_staircase)
    for one, other in zip(first.grand_staircase, second.grand_staircase, strict=True):
        assert one.kind is other.kind
        assert one.directions.shape[1] == other.directions.shape[1]
        assert (one.alpha is None) == (other.alpha is None)
        if one.alpha is not None and other.alpha is not None:
            error = (one.alpha_error or 0.0) + (other.alpha_error or 0.0)
            assert abs(one.alpha - other.alpha) <= 3 * error + 1e-9


def relabelled(text: str, function: Callable[[np.ndarray], np.ndarray]) -> Target:
    """A target whose outer function the analysis cannot see and take off: only the numbers tell."""
    inner = target(text)
    return replace(
        inner,
        text=f"<{text}>",
        tree=None,
        numpy_function=lambda fields: function(inner.link(fields)),
        source=object(),
    )


@FEW
@given(text=any_target, outer=st.sampled_from(["({})**3", "exp(tanh({}))", "tanh({})", "1e6 + ({})", "5 - 7*({})"]))
def test_an_injective_function_of_the_label_changes_nothing(text: str, outer: str) -> None:
    same(analyse(target(text)), analyse(target(outer.format(text))))


MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "offset": lambda y: 1e6 + y,
    "small": lambda y: 1e-9 * y,
    "turned": lambda y: 3.0 - 20 * y,
    "cube": lambda y: y**3,
    "high power": lambda y: y**11,
    "arctan": np.arctan,
    "signed root": lambda y: np.sign(y) * np.sqrt(np.abs(y)),
}


@MORE
@given(text=one_direction, name=st.sampled_from(list(MAPS)))
def test_nor_one_that_only_the_numbers_know(text: str, name: str) -> None:
    same(analyse(target(text)), analyse(relabelled(text, MAPS[name])))


def test_nor_in_two_directions() -> None:
    same(analyse(target("h1*h2 + 0.5*h1**2")), analyse(relabelled("h1*h2 + 0.5*h1**2", MAPS["high power"])))


def swapped(text: str) -> str:
    """h1 is called h2, h2 is called -h1."""
    return text.replace("h1", "h3").replace("h2", "(-h1)").replace("h3", "h2")


def turned(size: float, angle: float) -> tuple[str, str]:
    c, s = np.cos(angle), np.sin(angle)
    return f"h1**2 + {size}*h2**2", f"({c}*h1 + {s}*h2)**2 + {size}*({c}*h2 - {s}*h1)**2"


@FEW
@given(
    pair=st.one_of(
        st.builds(lambda text: (text, swapped(text)), two_directions),
        st.builds(turned, st.sampled_from([0.25, 0.5, 1.5]), st.sampled_from([0.3, 0.7, 1.1])),
    )
)
def test_names_signs_and_rotations_of_the_directions_do_not_matter(pair: tuple[str, str]) -> None:
    same(*(analyse(target(text)) for text in pair))


@MORE
@given(text=one_direction)
def test_an_unused_direction_does_not_matter(text: str) -> None:
    same(analyse(target(text)), analyse(target(f"{text} + h2 - h2")))


@FEW
@given(text=one_direction, size=st.sampled_from([0.5, 1.0, 2.0]))
def test_an_independent_direction_that_is_added_is_a_stage_of_its_own(text: str, size: float) -> None:
    """h2, which the label follows, is found from the first samples on; with h2 known, the rest is the old target."""
    alone, both = analyse(target(text)), analyse(target(f"{text} + {size}*h2"))
    assert both.grand_staircase[0].kind is Kind.TRIVIAL
    if alone.verdict is Verdict.TRIVIAL:
        assert both.verdict is Verdict.TRIVIAL
    else:
        same(alone, replace(both, grand_staircase=both.grand_staircase[1:]))


@FEW
@given(text=any_target, deviation=st.sampled_from([0.3, 1.0]), outer=st.sampled_from(["{}", "tanh({})", "({})**3"]))
def test_added_noise_is_the_same_inside_the_link_and_outside(text: str, deviation: float, outer: str) -> None:
    outside = analyse(target(text, noise=deviation**2))
    inside = analyse(target(outer.format(f"{text} + {deviation}*xi1")))
    same(outside, inside)
    if outer == "{}":  # then correlations see the same, too
        assert {name: cost.text for name, cost in inside.sample_cost.items()} == {
            name: cost.text for name, cost in outside.sample_cost.items()
        }


def test_a_function_that_loses_something_is_seen() -> None:
    """Negative controls: a size does not tell the sign, and a threshold 1% off is another one."""
    with pytest.raises(AssertionError):
        same(analyse(target("He3(h1)")), analyse(relabelled("He3(h1)", np.abs)))
    with pytest.raises(AssertionError):
        same(analyse(target("He4(h1)")), analyse(relabelled("He4(h1)", np.round)))
