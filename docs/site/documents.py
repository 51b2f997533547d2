"""What the documentation site adds to the documents: navigation, pictures of the pages, entries of the reference.

Sphinx calls the functions that `setup` connects. The documents are read where they stand, so that a link that works in
the repository works in the site.
"""

import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, get_args

import yaml
from sphinx.application import Sphinx

from bertviz_core import api
from bertviz_core.api.corpus import OpenedCorpus
from bertviz_core.api.results.base import Result
from docs.site import gallery

ROOT = Path(__file__).parents[2]
START = "README"
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Dashboard": (
        "pages",
        "journey",
        "lessons",
        "corpus",
        "corpus-at-scale",
        "models",
        "families",
        "verified-models",
        "glossary",
    ),
    "Library": ("library", "figures", "reference", "reference-data", "command-line", "canary"),
    "Hosting": ("deployment", "configuration", "compatibility", "benchmarks"),
    "Contributing": ("/CONTRIBUTING", "where-things-are", "adding-a-page", "adding-a-family", "/CHANGELOG"),
}
"""Heading of the sidebar -> its documents, those of docs/ without their folder."""
ROW = re.compile(r"^\| (?P<title>[^|]+?) \| (?P<question>[^|]+?) \| (?P<shows>.+?) \|$", re.MULTILINE)
NAMED = re.compile(r"\[(?P<path>[\w./-]+\.md)\](?=\((?P=path)[#)])")
"""The text of a link that names a document by its path; the site has the document's title there."""
ENTRIES = re.compile(r"<!-- entries: (?P<names>[^>]+?) -->")
"""Mark of a document where the site has entries: names of the library, `answers`, or `data`."""


def colours(theme: str) -> dict[str, str]:
    """The theme's CSS variables, with the colours of the dashboard; theme is "light" or "dark"."""
    named = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["theme"][theme]
    return {
        "font-stack": '"Source Sans", sans-serif',
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        "color-api-name": named["textColor"],
        "color-api-pre-name": named["textColor"],
        "color-brand-primary": named["linkColor"],
        "color-brand-content": named["linkColor"],
        "color-brand-visited": named["linkColor"],
        "color-background-primary": named["backgroundColor"],
        "color-background-secondary": named["secondaryBackgroundColor"],
        "color-code-background": named["secondaryBackgroundColor"],
        "color-inline-code-background": named["secondaryBackgroundColor"],
        "color-foreground-primary": named["textColor"],
        "color-background-border": named["borderColor"],
    }


def navigation() -> str:
    """The sidebar, as tables of contents that the start page does not show."""
    tables = []
    for caption, names in NAVIGATION.items():
        lines = "\n".join(name if name.startswith("/") else f"docs/{name}" for name in names)
        tables.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n")
    return "\n".join(tables)


def page_sections(text: str) -> str:
    """The pages of the dashboard: each row of the document's table becomes a section with its picture."""
    pictures: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docs/images/pictures.yaml").read_text("utf-8"))
    names = {picture["title"]: name for name, picture in pictures.items()}
    parts = []
    for row in [row.groupdict() for row in ROW.finditer(text)][2:]:
        name = names.get(row["title"], "")
        points = "\n".join(f"* {point[0].upper()}{point[1:]}" for point in row["shows"].split("; "))
        picture = f"[![{pictures[name]['alt']}](images/{name}.webp)](images/{name}.webp)\n\n" if name else ""
        parts.append(f"## {row['title']}\n\n*{row['question']}*\n\n{picture}{points}\n")
    before, rest = text[: text.index("\n| ")].strip(), text[text.rindex("|\n") + 2 :].strip()
    return "\n\n".join([before, rest, *parts])


def named_entries() -> dict[str, list[str]]:
    """`answers` and `data` -> names of the classes of every answer of the library, and of its data."""
    for module in walk_packages(api.__path__, f"{api.__name__}."):
        import_module(module.name)
    kinds = Result.__subclasses__()
    data = [
        each for kind in kinds for (base,) in [get_args(kind.__orig_bases__[0])] for each in get_args(base) or [base]
    ]
    classes = {"answers": [kind for kind in kinds if kind is not OpenedCorpus], "data": data}
    return {
        key: list(dict.fromkeys(f"{each.__module__}.{each.__name__}" for each in some)) for key, some in classes.items()
    }


def entry(name: str) -> str:
    """The directive that writes the entry of a function, a class with its members, or an exception."""
    module, _, attribute = name.rpartition(".")
    thing = getattr(import_module(module), attribute)
    if not isinstance(thing, type):
        return f".. autofunction:: {name}\n"
    return f".. autoclass:: {name}\n   :members:\n   :inherited-members: Result, BaseException, tuple\n"


def with_entries(text: str) -> str:
    """The document with entries in place of its marks."""

    def entries(mark: re.Match[str]) -> str:
        names = [each for name in mark["names"].split() for each in named_entries().get(name, [name])]
        return "```{eval-rst}\n" + "\n".join(map(entry, names)) + "```\n"

    return ENTRIES.sub(entries, text)


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Change the text of a document before it is parsed."""
    if name == START:
        source[0] += f"\n\n{navigation()}"
    elif name == "docs/pages":
        source[0] = page_sections(source[0])
    elif name == "docs/figures":
        folder = Path(app.outdir, "docs/figures") if app.config.draw_figures else None
        source[0] = source[0].replace("<!-- figures -->", gallery.sections(folder))
    else:
        source[0] = with_entries(source[0])
    source[0] = NAMED.sub("[]", source[0])


def without_fields(_: Sphinx, kind: str, _name: str, thing: object, *_rest: object) -> tuple[str, None] | None:
    """No signature for data and answers, which users do not construct; their fields have entries of their own."""
    is_data = isinstance(thing, type) and (is_dataclass(thing) or issubclass(thing, Result))
    return ("", None) if kind == "class" and is_data else None


def copy_start(app: Sphinx, error: Exception | None) -> None:
    """Write the start page also as index.html, the file that opens for a folder."""
    if error is None:
        shutil.copy(Path(app.outdir, f"{app.config.root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.add_config_value("draw_figures", True, "env", bool)
    app.connect("source-read", read)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("build-finished", copy_start)
