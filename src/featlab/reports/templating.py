"""Pages are templates beside their style sheets, filled here: everything is escaped, an unknown name is an error.

Markdown has no escaping of its own: there, what would be an element of HTML is written so that it is none.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from featlab import __version__
from featlab.reports.mathml import formula, powers

# The beginning of a tag, a comment or a declaration; <u, v> is none of them, and stays.
_ELEMENT = re.compile(r"<(?=/?[A-Za-z][A-Za-z0-9-]*[\s/>]|/?[A-Za-z][A-Za-z0-9-]*$|[!?])")


@cache
def _environment(markdown: bool) -> Environment:
    # Markdown is not HTML: there `_without_elements` takes the place of escaping.
    environment = Environment(  # nosec B701
        loader=PackageLoader("featlab.reports"),
        autoescape=not markdown,
        finalize=_without_elements if markdown else None,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["powers"] = powers
    environment.globals["formula"] = formula
    return environment


def fill(template: str, **content: object) -> str:
    """A template of this package with its content; text is escaped unless it is marked as HTML (a `Markup`)."""
    return _environment(template.endswith(".md")).get_template(template).render(version=__version__, **content)


def _without_elements(value: Any) -> Any:
    return _ELEMENT.sub("&lt;", value) if isinstance(value, str) else value
