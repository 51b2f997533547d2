"""The documentation site: built without a warning and without a network, complete, and read from a folder, offline.

Covers docs/site/conf.py, docs/site/documents.py and docs/images/pictures.yaml.
"""

import html
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import bertviz_core
from bertviz_core.questions.figures import all_figures
from docs.site import gallery
from docs.site.documents import named_entries
from tests.helpers.screenshots import IMAGES, pictures

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("[a-z]*.py"))
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BUILD = """
import socket, sys
def refuse(*_): raise OSError("the build asks the network")
socket.socket.connect = socket.getaddrinfo = refuse
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""
MOST_BYTES = 3_000_000
LOADING = {"stylesheet", "icon", "preconnect", "preload", "prefetch", "modulepreload", "dns-prefetch", "manifest"}
"""Kinds of <link> that a browser requests automatically."""
STYLE_ADDRESS = re.compile(r"""(?:url\(|@import)\s*["']?(?!data:|#|var)([^"')\s;]+)""")


def build(source: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the documents of a folder as `make docs` does, without the pictures of figures."""
    words = [sys.executable, "-c", BUILD, "-q", "-E", "-W", "--keep-going", "-D", "draw_figures=0", *options]
    words += ["-c", "docs/site", "-d", str(folder.parent / "read"), str(source), str(folder)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; a warning ends the build."""
    folder = tmp_path_factory.mktemp("documentation") / "site"
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def requests(page: Page) -> Iterator[list[str]]:
    """Addresses that the browser requests and that are not of the folder."""
    outside: list[str] = []
    page.on("request", lambda each: None if each.url.startswith(("file:", "data:")) else outside.append(each.url))
    yield outside
    assert outside == []


class Seen(HTMLParser):
    """Parser of the resources that a page loads, and of its ids and images."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures: dict[str, str] = {}
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids += [named["id"]] if "id" in named else []
        if tag == "link" and LOADING & set(named.get("rel", "").split()):
            self.loaded.append(named["href"])
        elif tag != "a":
            self.loaded += [named[name] for name in ("src", "srcset", "data", "poster") if name in named]
        if tag == "img":
            self.pictures[named["src"]] = named.get("alt", "")


def seen(file: Path) -> Seen:
    return Seen(file.read_text(encoding="utf-8"))


def lost(file: Path) -> list[str]:
    """Addresses that a file of the site loads and that are not files of the site."""
    text = file.read_text(encoding="utf-8")
    loaded = STYLE_ADDRESS.findall(text) if file.suffix == ".css" else Seen(text).loaded
    local = [address.partition("?")[0].partition("#")[0] for address in loaded]
    return [
        address
        for address in local
        if ":" in address or address.startswith("/") or not (file.parent / address).is_file()
    ]


def entries(file: Path) -> dict[str, str]:
    """Id of each entry of a page of the reference -> its text."""
    parts = re.split(r'<dt class="sig[^>]*? id="([^"]+)">', file.read_text(encoding="utf-8"))
    texts = (html.unescape(re.sub(r"<[^>]+>", "", part)) for part in parts[2::2])
    return {name: re.sub(r"\s+", " ", text) for name, text in zip(parts[1::2], texts, strict=True)}


def thing(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    files = [path for kind in ("*.html", "*.css") for path in site.rglob(kind)]
    assert len(files) > 15
    assert {path.name: lost(path) for path in files if lost(path)} == {}


@pytest.mark.parametrize(
    ("name", "text", "address"),
    [
        ("a.html", '<script src="https://cdn.example.org/a.js"></script>', "https://cdn.example.org/a.js"),
        ("a.html", '<link rel="preconnect" href="//fonts.example.org">', "//fonts.example.org"),
        ("a.html", '<img src="gone.webp">', "gone.webp"),
        ("a.css", '@import "https://fonts.example.org/a.css";', "https://fonts.example.org/a.css"),
        ("a.css", "b { background: url(gone.svg) }", "gone.svg"),
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(name: str, text: str, address: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert lost(tmp_path / name) == [address]


@pytest.mark.parametrize(
    ("links", "messages"),
    [
        ("[a](a.md) [b](a.md#b)", []),
        ("[a](gone.md) [b](a.md#lost) ![c](away.webp)", ["gone.md", "'lost'", "away.webp"]),
    ],
)
def test_a_broken_link_ends_the_build(links: str, messages: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# A\n\n## B\n\n{links}\n")
    done = build(tmp_path, tmp_path / "site", "-D", "root_doc=a", "-D", "include_patterns=a.md")
    assert (done.returncode, done.stderr.count("WARNING: ")) == (1 if messages else 0, len(messages)), done.stderr
    assert all(message in done.stderr for message in messages)


def test_each_document_is_a_page(site: Path) -> None:
    for document in DOCUMENTS:
        page = site / Path(document).with_suffix(".html")
        title = re.search(r"^# (.+)$", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
        assert title is not None
        assert f"<title>{title[1]}" in page.read_text(encoding="utf-8") or document == "README.md"
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each.startswith("docs/")])
def test_a_document_is_plain_markdown(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert not re.search(r"^(:::|```+\{|\.\. \w+::|\(\w[\w-]*\)=)|\{(ref|doc|class|func)\}`", text, re.MULTILINE)


def test_each_page_of_the_dashboard_has_its_place_and_picture(site: Path) -> None:
    declared, page = pictures(), seen(site / "docs/pages.html")
    assert sorted(declared) == PAGES
    for name, picture in declared.items():
        assert picture["title"].lower().replace(" ", "-") in page.ids
        assert page.pictures[f"../_images/{name}.webp"] == picture["alt"]
        assert Image.open(site / "_images" / f"{name}.webp").size == tuple(picture.get("size", (1400, 900)))
    drawn = {f"../_images/{name}.webp" for name in pictures("journey.yaml")}
    assert {each for each in seen(site / "docs/journey.html").pictures if "_images" in each} == drawn
    assert sum(path.stat().st_size for path in IMAGES.iterdir()) < MOST_BYTES


def test_each_public_name_has_its_entry_with_its_errors(site: Path) -> None:
    found = entries(site / "docs/reference.html")
    public = [getattr(bertviz_core, name) for name in bertviz_core.__all__ if name != "__version__"]
    assert public
    raising = 0
    for each in public:
        name = f"bertviz_core.{each.__name__}"
        first = inspect.getdoc(each)
        assert first
        assert re.split(r"[.:`*<&'\"\n]", first)[0] in found[name]
        for method, member in inspect.getmembers(each, inspect.isfunction) if inspect.isclass(each) else ():
            if method.startswith("_") or member.__module__.partition(".")[0] != "bertviz_core":
                continue
            entry = found[f"{name}.{method}"]
            assert all(parameter in entry for parameter in inspect.signature(member).parameters if parameter != "self")
            for error in re.findall(r"Raises:\n\s+(\w+):", inspect.getdoc(member) or ""):
                assert re.search(rf"Raises: {error} – ", entry), f"{name}.{method}"
                raising += 1
    assert raising > 5


def test_each_answer_and_its_data_have_their_entries_with_shapes_and_units(site: Path) -> None:
    answers, data = entries(site / "docs/reference.html"), entries(site / "docs/reference-data.html")
    for name in named_entries()["answers"]:
        thing(name)  # its module is imported when it is asked for
    kinds = bertviz_core.Result.__subclasses__()
    assert len(kinds) > 10
    for kind in kinds:
        assert f"{kind.__module__}.{kind.__name__}" in answers
        (contents,) = get_args(kind.__orig_bases__[0])
        for each in get_args(contents) or [contents]:
            assert f"{each.__module__}.{each.__name__}" in data
    shapes = 0
    for name in named_entries()["data"]:
        for each in fields(thing(name)) if is_dataclass(thing(name)) else ():
            for shape in re.findall(r"ndarray, ['\"]([^'\"]+)['\"]", str(each.type)):
                assert shape.strip() in data[f"{name}.{each.name}"]
                shapes += 1
    assert shapes > 20
    assert "in nats, 0 to ln 2" in data["bertviz_core.checkpoints.results.Behaviour.divergences"]


def test_the_gallery_has_every_figure_once_with_its_lines(site: Path) -> None:
    text = (site / "docs/figures.html").read_text(encoding="utf-8")
    ids = [each.removeprefix("figure-") for each in Seen(text).ids if each.startswith("figure-")]
    assert sorted(ids) == sorted(all_figures())
    parts = re.split(r'id="figure-([\w-]+)"', text)
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        example = gallery.example_of(all_figures()[name])
        lines = [
            html.unescape(re.sub(r"<[^>]+>", "", each)).strip() for each in re.findall(r"<pre>(.*?)</pre>", part, re.S)
        ]
        assert lines == [gallery.python_line(name, example), gallery.command_line(name, example)]


def test_it_is_read_and_searched_from_a_folder(site: Path, page: Page, requests: list[str]) -> None:
    page.goto((site / "index.html").as_uri())
    expect(page.get_by_role("heading", name="Inside BERT", level=1)).to_be_visible()
    page.get_by_role("textbox", name="Search").fill("zeroing")
    page.keyboard.press("Enter")
    page.locator("#search-results a[href*='docs/pages.html']").click()
    expect(page.get_by_role("heading", name="Pages of the dashboard", level=1)).to_be_visible()
    expect(page.locator("span.highlighted").first).to_have_text("zeroing")
    assert page.evaluate("document.fonts.check('16px \"Source Sans\"')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_colours_are_those_of_the_dashboard(scheme: Any, site: Path, page: Page, requests: list[str]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto((site / "docs/reference.html").as_uri())
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 21, 27)"}[scheme]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["index", "docs/pages", "docs/configuration", "docs/reference", "docs/figures"])
def test_on_a_phone_no_page_is_wider_than_the_window(name: str, site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / f"{name}.html").as_uri())
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
