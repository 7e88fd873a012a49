"""Pages are templates beside their style sheets, filled here: everything is escaped, an unknown name is an error."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from featlab import __version__


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("featlab.reports"),
        autoescape=select_autoescape(disabled_extensions=("md",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def fill(template: str, **content: object) -> str:
    """A template of this package with its content; text is escaped unless it is marked as HTML (a `Markup`)."""
    return _environment().get_template(template).render(version=__version__, **content)
