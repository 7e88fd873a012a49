"""What the site has besides the pages in docs, made when it is built by `make docs`: a hook, named in mkdocs.yml.

The command reference comes from the command line itself, the schemas from `featlab.reports.schemas`, and the files at
the root of the repository (changelog, contributing, security) become pages. The chapters of the course as they were
built are put into the navigation. The gallery of all exhibits at paper size is made from docs/results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

AT_THE_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
SHIM = "https://unpkg.com/iframe-worker/shim"
ABOUT_COMMANDS = """\
Every command of `featlab`, made from the command line itself: what `featlab COMMAND --help` says. Numbers may be
written as `1e6`, times as `30s` or `2min`. What `--json` prints has a [schema](../json.md)."""
WAY_BACK = '<nav><a href="../reproduce.html">featlab: Reproduce</a></nav>'
GALLERY = "the gallery of this site"  # where a page says this it leads there
NEXT = {
    "CHANGELOG.md": "Next: [what a version promises](versions.md), [install](install.md).",
    "CONTRIBUTING.md": "Next: [design](design.md), [extend](extend.md).",
    "SECURITY.md": "Next: [reliability](reliability.md), [contributing](contributing.md).",
}


def on_config(config: Any) -> Any:
    """Put the course into the navigation: its first page, which leads the section, and its chapters."""
    docs = Path(config["docs_dir"])
    built = sorted(path.relative_to(docs).as_posix() for path in (docs / "course" / "built").glob("*.md"))
    _section(config["nav"], "Learn").insert(1, {"The course": ["course/index.md", *built]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for place, content in generated().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to files at the root of the repository lead to their pages, as does the gallery; formulas are shown as
    they are."""
    from docs.markdown import page as with_formulas

    up = "../" * page.file.src_uri.count("/")
    for source, goal in AT_THE_ROOT.items():
        markdown = markdown.replace(f"]({up}../{source})", f"]({up}{goal})")
    return with_formulas(markdown).replace(GALLERY, f'<a href="{up}gallery/index.html">{GALLERY}</a>')


def on_post_page(output: str, page: Any, config: Any) -> str:
    """What the search needs where pages are read from a folder lies beside them, and not on somebody's server."""
    up = "../" * page.url.count("/")
    return output.replace(SHIM, f"{up}assets/iframe-worker/shim.js")


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for the page that a server shows where there is none."""
    return output_content.replace(SHIM, "/assets/iframe-worker/shim.js")


def on_post_build(config: Any) -> None:
    """The gallery stands beside the pages: a site of its own, with a way back."""
    from featlab.exhibits import Size
    from featlab.reports.gallery import write_gallery

    gallery = Path(config["site_dir"]) / "gallery"
    write_gallery(gallery, ROOT / "docs" / "results", Size.PAPER)
    for path in gallery.glob("*.html"):
        path.write_text(with_way_back(path.read_text(encoding="utf-8")), encoding="utf-8")


def with_way_back(page: str) -> str:
    """A page of the gallery with a link to the door that led there."""
    return page.replace("<main>", f"<main>{WAY_BACK}", 1)


def generated() -> dict[str, str]:
    """The pages that are made, by their place."""
    from featlab.reports.schemas import SCHEMAS, schema_of, slug

    pages = {"reference/commands.md": commands_page()}
    pages |= {f"schemas/{slug(name)}.json": json.dumps(schema_of(name), indent=2) for name in SCHEMAS}
    for source, goal in AT_THE_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, place in AT_THE_ROOT.items():
            text = text.replace(f"]({other})", f"]({place})")
        pages[goal] = f"{text.rstrip()}\n\n{NEXT[source]}\n"
    return pages


def commands_page() -> str:
    """Every command with its arguments, options and examples, as the command line itself has them."""
    import typer

    from featlab.cli.app import app

    command = typer.main.get_command(app)
    parts = [
        "# Commands",
        ABOUT_COMMANDS,
        '```sh\nfeatlab explain "He3(h1)" --no-simulation\n```',
        *_told(command, "featlab"),
        "## Options by learner",
        "`simulate`, `predict` and `compare` take besides their own the options of the learner that `--learner` names.",
        *_learners(),
        "Next: [the same in Python](featlab.md), [JSON](../json.md), [quickstart](../quickstart.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _section(nav: list[Any], title: str) -> list[Any]:
    return next(entry[title] for entry in nav if isinstance(entry, dict) and title in entry)


def _told(command: Any, name: str) -> Iterator[str]:
    """A command, then its subcommands."""
    if name != "featlab":
        yield f"## {name}"
        yield _plain(command.help)
        yield f"```text\n{_usage(command, name)}\n```"
    shown = [one for one in command.params if not getattr(one, "hidden", False) and _common(one)]
    if shown:
        yield "\n".join(["| option | meaning |", "|---|---|", *map(_row, shown)])
    if command.epilog:
        yield "```sh\n" + "\n".join(command.epilog.split("\n\n")[1:]) + "\n```"
    for child, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _told(inner, f"{name} {child}")


def _common(parameter: Any) -> bool:
    """Not an option of some learners only; these have tables of their own."""
    return getattr(parameter, "rich_help_panel", None) not in ("Learner", "Student")


def _usage(command: Any, name: str) -> str:
    arguments = [one.metavar or one.name.upper() for one in command.params if one.param_type_name == "argument"]
    words = [name, "COMMAND" if hasattr(command, "commands") else "", *arguments, "[OPTIONS]"]
    return " ".join(word for word in words if word)


def _row(parameter: Any) -> str:
    takes = "" if getattr(parameter, "is_flag", False) or not parameter.metavar else f" {parameter.metavar}"
    names = [f"{name}{takes}" for name in (*parameter.opts, *parameter.secondary_opts)]
    if parameter.param_type_name == "argument":
        names = [parameter.metavar or parameter.name.upper()]
    default = parameter.default
    told = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    said = " Required." if parameter.required else f" Default: `{default}`." if told else ""
    return f"| {_cell(', '.join(f'`{name}`' for name in names))} | {_cell(_plain(parameter.help) + said)} |"


def _learners() -> Iterator[str]:
    for name in _printed("learners")["learners"]:
        about = _printed("learners", name)
        yield f"### {name}"
        papers = "; ".join(_link(paper) for paper in about["papers"])
        clock = f"`--samples` and `--times`: {about['samples_and_times']}."
        yield f"{about['does']} {clock}" + (f" Papers: {papers}." if papers else "")
        for owner, rows in about["options"].items():
            lines = [
                f"| `{row['option']}` | {_cell(row['default'] or 'required')} | {_cell(_plain(row['meaning']))} |"
                for row in rows
            ]
            yield "\n".join([f"| {owner}'s option | default | meaning |", "|---|---|---|", *lines])
        if about["example"]:
            yield f"```sh\n{about['example']}\n```"


def _printed(*arguments: str) -> Any:
    """What a command prints with --json."""
    from typer.testing import CliRunner

    from featlab.cli.app import app

    return json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)


def _link(paper: dict[str, str]) -> str:
    return f"[{paper['citation']}]({paper['link']})" if paper["link"] else paper["citation"]


def _plain(text: str | None) -> str:
    """Help without line breaks inside a paragraph."""
    from docs.markdown import plain

    return plain(re.sub(r"(?<=\S)\n(?=\S)", " ", (text or "").strip()))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
