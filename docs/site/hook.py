"""Makes the documentation site of the texts that are there: README, docs, the pages with pictures, the changelog.

mkdocs calls the functions named on_...; nothing is written twice, and a link that works in the repository works here.
"""

import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, get_args

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from bertviz_core import api
from bertviz_core.api.corpus import OpenedCorpus
from bertviz_core.api.results.base import Result
from bertviz_core.figures.base.style import LIGHT
from ui.server.logo import mark

ROOT = Path(__file__).parents[2]
START = "index.md"
OTHERS = {"README.md": START, "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Documents outside docs/ -> their pages."""
GALLERY = "pages.md"
TYPEFACE = "bertviz_core/figures/base/fonts/source_sans.woff2"
LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<path>[^)#\s]+)(?P<fragment>#[^)\s]*)?\)")
NAMED = re.compile(r"\[(?P<path>[\w./-]+\.md)\](?=\((?P=path)[#)])")
"""The words of a link that names a document by its path."""
ROW = re.compile(r"^\| (?P<title>[^|]+?) \| (?P<question>[^|]+?) \| (?P<shows>.+?) \|$", re.MULTILINE)


def anchor(title: str) -> str:
    """The address of a heading inside its page."""
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


def place(path: str, fragment: str) -> str:
    """Where the site has a file of the repository; what is no document is carried along as it is."""
    known = OTHERS.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}")
    return known + fragment


def linked(markdown: str, origin: str) -> str:
    """The text with its links as the site has them; origin is the repository's folder that they start from."""

    def there(link: re.Match[str]) -> str:
        return f"]({place(posixpath.normpath(posixpath.join(origin, link['path'])), link['fragment'] or '')})"

    def words(link: re.Match[str]) -> str:
        return f"[{Path(link['path']).stem.replace('-', ' ').capitalize()}]"

    return LINK.sub(there, NAMED.sub(words, markdown))


def carried(markdown: str, origin: str) -> Iterator[str]:
    """Files of the repository that a text links to and that are no documents."""
    for link in LINK.finditer(markdown):
        whole = posixpath.normpath(posixpath.join(origin, link["path"]))
        if place(whole, "").startswith("files/"):
            yield whole


def gallery(text: str) -> str:
    """The pages of the dashboard: each row of the document's table becomes a section with its picture."""
    pictures: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docs/images/pictures.yaml").read_text("utf-8"))
    named = {picture["title"]: (name, picture) for name, picture in pictures.items()}
    rows = [row.groupdict() for row in ROW.finditer(text)][2:]
    contents, parts = [], []
    for row in rows:
        title, question = row["title"], row["question"]
        name, picture = named[title]
        points = "\n".join(f"* {point[0].upper()}{point[1:]}" for point in row["shows"].split("; "))
        contents.append(f"* [{title}](#{anchor(title)}): {question}")
        parts.append(
            f"## {title}\n\n{question}\n{{ .question }}\n\n"
            f"[![{picture['alt']}](images/{name}.webp){{ loading=lazy }}](images/{name}.webp)\n\n{points}\n"
        )
    before, rest = text[: text.index("\n| ")].strip(), text[text.rindex("|\n") + 2 :].strip()
    return "\n\n".join([before, "\n".join(contents), rest, *parts])


def documents() -> dict[str, str]:
    """Page of the site -> its text, of all that stands outside docs/."""
    return {uri: (ROOT / name).read_text(encoding="utf-8") for name, uri in OTHERS.items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what stands outside docs/: README, changelog, mark, typeface, and files that documents link to."""
    made = documents()
    texts = [(text, "") for text in made.values()]
    texts += [(file.content_string, "docs") for file in files.documentation_pages()]
    for path in {path for text, origin in texts for path in carried(text, origin)}:
        files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=linked(text, "")))
    files.append(File.generated(config, "site/source_sans.woff2", abs_src_path=str(ROOT / TYPEFACE)))
    files.append(File.generated(config, "site/mark.svg", content=mark(LIGHT)))
    return files


def entries() -> dict[str, str]:
    """Mark in a document -> the entries of every answer of the library, and of its data."""
    for module in walk_packages(api.__path__, f"{api.__name__}."):
        import_module(module.name)
    kinds = Result.__subclasses__()
    held = [
        held for kind in kinds for (base,) in [get_args(kind.__orig_bases__[0])] for held in get_args(base) or [base]
    ]
    listed = {"<!-- answers -->": [kind for kind in kinds if kind is not OpenedCorpus], "<!-- data -->": held}
    return {
        mark: "\n".join(dict.fromkeys(f"::: {each.__module__}.{each.__name__}" for each in classes))
        for mark, classes in listed.items()
    }


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The links of a document in docs/ as the site has them, and the entries of answers where it has a mark."""
    for name, lines in entries().items() if "<!-- " in markdown else ():
        markdown = markdown.replace(name, lines)
    if page.file.src_uri == GALLERY:
        markdown = gallery(markdown)
    return markdown if page.file.generated_by else linked(markdown, "docs")
