"""CITATION.cff: featlab, and the papers that it rests on, from `featlab.citations`.

    python -m docs.citation

writes it again; a test holds it to what is written here.
"""

from __future__ import annotations

import json

from docs.refresh import ROOT

HEAD = """\
cff-version: 1.2.0
message: If you use featlab, please cite it, and the papers that its explanations name.
title: "featlab: what a shallow network can learn of a function, by which algorithm, from how much data"
type: software
version: {version}
license: MIT
authors:
  - name: The featlab developers
keywords:
  - feature learning
  - multi-index models
  - information exponent
  - generative exponent
  - learning theory
references:
"""


def citation_file() -> str:
    """The whole file. Authors are known by their last names; JSON's quotes are YAML's."""
    import featlab
    from featlab.citations import CITATIONS

    lines = []
    for paper in CITATIONS.values():
        lines += [f"  - type: article\n    title: {json.dumps(paper.title)}\n    year: {paper.year}\n    authors:"]
        lines += [f"      - family-names: {json.dumps(name)}" for name in paper.authors.split(", ")]
        if paper.link:
            lines += [f"    url: {json.dumps(paper.link)}"]
    return HEAD.format(version=featlab.__version__) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "CITATION.cff").write_text(citation_file(), encoding="utf-8")
