"""The documentation site: built without a warning and without a network, complete, and read from a folder, offline.

Covers docs/site/hook.py and docs/images/pictures.yaml.
"""

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import get_args

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import bertviz_core
from tests.helpers.screenshots import IMAGES, pictures

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("[a-z]*.py"))
BUILD = """
import socket, sys
def refuse(*_): raise OSError("the build asks the network")
socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(sys.argv[1:])
"""
MOST_BYTES = 3_000_000
LOADING = {"stylesheet", "icon", "preconnect", "preload", "prefetch", "modulepreload", "dns-prefetch", "manifest"}
"""Kinds of <link> that a browser requests automatically."""
STYLE_ADDRESS = re.compile(r"""(?:url\(|@import)\s*["']?(?!data:|#|var)([^"')\s;]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; a warning ends the build."""
    folder = tmp_path_factory.mktemp("documentation")
    command = [sys.executable, "-c", BUILD, "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return folder


class Seen(HTMLParser):
    """Parser of the resources that a page loads, and of its ids and images."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures: dict[str, str] = {}
        self.ids: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids.add(named.get("id", ""))
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
    asked = STYLE_ADDRESS.findall(text) if file.suffix == ".css" else Seen(text).loaded
    local = [address.partition("?")[0].partition("#")[0] for address in asked]
    return [
        address
        for address in local
        if ":" in address or address.startswith("/") or not (file.parent / address).is_file()
    ]


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    files = [path for kind in ("*.html", "*.css") for path in site.rglob(kind) if path.name != "404.html"]
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
    ("text", "origin", "expected"),
    [
        ("[docs/deployment.md](docs/deployment.md#gpu)", "", "[Deployment](deployment.md#gpu)"),
        ("[settings](configuration.md#limits)", "docs", "[settings](configuration.md#limits)"),
        ("[run](../README.md#run-it)", "docs", "[run](index.md#run-it)"),
        ("[a](../ui/lessons/shipped/tokens.yaml)", "docs", "[a](files/ui/lessons/shipped/tokens.yaml)"),
        ("[![alt](docs/images/a.webp)](docs/images/a.webp)", "", "[![alt](images/a.webp)](images/a.webp)"),
        ("[a](https://example.org/docs/a.md) [b](#b)", "docs", "[a](https://example.org/docs/a.md) [b](#b)"),
    ],
)
def test_links_of_the_repository_lead_to_the_site(text: str, origin: str, expected: str) -> None:
    spec = spec_from_file_location("hook", ROOT / "docs" / "site" / "hook.py")
    assert spec is not None
    assert spec.loader is not None
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert hook.linked(text, origin) == expected


@pytest.mark.slow
def test_each_page_of_the_dashboard_has_its_place_and_picture(site: Path) -> None:
    asked, gallery = pictures(), seen(site / "pages.html")
    assert sorted(asked) == PAGES
    for name, picture in asked.items():
        assert picture["title"].lower().replace(" ", "-") in gallery.ids
        assert gallery.pictures[f"images/{name}.webp"] == picture["alt"]
        assert Image.open(site / "images" / f"{name}.webp").size == tuple(picture.get("size", (1400, 900)))
    drawn = {f"images/{name}.webp" for name in pictures("journey.yaml")}
    assert {each for each in seen(site / "journey.html").pictures if each.startswith("images/")} == drawn
    assert all((site / each).is_file() for each in drawn)
    assert sum(path.stat().st_size for path in IMAGES.iterdir()) < MOST_BYTES


def test_each_public_name_has_its_entry(site: Path) -> None:
    html = (site / "reference.html").read_text(encoding="utf-8")
    ids = Seen(html).ids
    public = [getattr(bertviz_core, name) for name in bertviz_core.__all__ if name != "__version__"]
    assert public
    for each in public:
        members = vars(each).items() if inspect.isclass(each) else ()
        methods = [name for name, member in members if inspect.isfunction(member) and not name.startswith("_")]
        for name in ["", *(f".{method}" for method in methods)]:
            assert f"bertviz_core.{each.__name__}{name}" in ids
        first = inspect.getdoc(each)
        assert first
        assert re.split(r"[.:`*<&'\"\n]", first)[0] in re.sub(r"\s+", " ", html)


def test_each_answer_and_its_data_have_their_entries(site: Path) -> None:
    import_module("bertviz_core.api.model")
    import_module("bertviz_core.api.corpus")
    answers, data = seen(site / "reference.html").ids, seen(site / "reference-data.html").ids
    kinds = bertviz_core.Result.__subclasses__()
    assert len(kinds) > 10
    for kind in kinds:
        assert f"{kind.__module__}.{kind.__name__}" in answers
        (holds,) = get_args(kind.__orig_bases__[0])
        for each in get_args(holds) or [holds]:
            assert f"{each.__module__}.{each.__name__}" in data


def test_it_is_read_and_searched_from_a_folder(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    expect(page.get_by_role("heading", name="Inside BERT", level=1)).to_be_visible()
    page.get_by_role("textbox", name="Search").press_sequentially("zeroing")
    page.locator(".md-search-result__link[href*='pages.html'][href*='#attention']").click()
    expect(page.get_by_role("heading", name="Attention", level=2)).to_be_visible()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["index", "pages", "configuration", "reference", "families"])
def test_on_a_phone_no_page_is_wider_than_the_window(name: str, site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / f"{name}.html").as_uri())
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
