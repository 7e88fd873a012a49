"""Labels are read from files as text; they must say what the exhibits themselves say."""

from __future__ import annotations

from featlab.exhibits import all_exhibits
from featlab.exhibits.find import exhibit_labels


def test_labels_are_those_of_the_exhibits():
    labels = exhibit_labels()
    read = {id: (label.title, label.shows) for id, label in labels.items()}
    assert read == {exhibit.id: (exhibit.title, exhibit.shows) for exhibit in all_exhibits()}
