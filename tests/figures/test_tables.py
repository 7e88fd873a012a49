import numpy as np

from featlab.figures.style import new_figure
from featlab.figures.tables import shaded_table, text_table


def test_a_table_of_words_has_its_heads_and_cells_in_their_columns():
    axes = new_figure(4, 2).subplots()
    text_table(axes, {"a": 0.0, "b": 0.5}, [[("1", "red"), ("2", "blue")]])
    assert [(text.get_text(), *text.get_position()) for text in axes.texts] == [
        ("a", 0.0, 0), ("b", 0.5, 0), ("1", 0.0, 1), ("2", 0.5, 1),
    ]  # fmt: skip
    assert [text.get_color() for text in axes.texts[2:]] == ["red", "blue"]


def test_a_shaded_table_says_its_numbers_readably():
    axes = new_figure(4, 2).subplots()
    shaded_table(axes, np.array([[0.0, 0.9], [-0.001, 0.126]]), np.array([[False, True], [False, False]]), ["x", "y"])
    assert [text.get_text() for text in axes.texts] == ["0.00", "0.90", "0.00", "0.13"]
    assert [text.get_weight() for text in axes.texts] == ["normal", "bold", "normal", "normal"]
    assert axes.texts[1].get_color() == "white" != axes.texts[0].get_color()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "y"]
