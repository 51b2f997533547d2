"""The widgets of a notebook in a browser: their module is loaded as anywidget does, clicks set traits, traits draw.

Python's side is the widget itself; only the notebook between the two is the test's own.
"""

from base64 import b64encode
from collections.abc import Iterator
from json import dumps, loads
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertviz_core import open_model
from tests.browser.conftest import Watch, new_tab
from tests.helpers.notebook import Notebook

pytestmark = pytest.mark.browser
TEXT = "Sinan loves a beautiful day"
PAINTED = ".attention[data-painted]"
SHOW = """async ({ esm, state }) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const heard = new Map(), values = {}, at = (name) => heard.get(name) ?? [];
  const take = (news) => {
    for (const [name, value] of Object.entries(news)) values[name] = name === "_payload" ? bytes(value) : value;
    for (const name of Object.keys(news)) at(`change:${name}`).forEach((call) => call());
    const shown = Object.entries(news).filter(([name]) => name[0] !== "_");
    for (const [name, value] of shown) document.body.dataset[name] = JSON.stringify(value);
  };
  const model = {
    get: (name) => values[name],
    on: (names, call) => names.split(" ").forEach((name) => heard.set(name, [...at(name), call])),
    off: (names, call) => names.split(" ").forEach((name) => heard.set(name, at(name).filter((each) => each !== call))),
    send: async (content) => (await window.toPython(content)).forEach(take),
  };
  take(state);
  window.take = take;
  window.heard = heard;
  window.keys = 0;
  document.body.innerHTML = "<div id=output></div>";
  document.addEventListener("keydown", () => { window.keys += 1; });
  const module = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  window.leave = await module.default.render({ model, el: document.getElementById("output") });
}"""


class Output:
    """The output of a cell with a widget, in a page without a network."""

    def __init__(self, page: Page, widget: Any) -> None:
        self.page, self.widget, self.notebook = page, widget, Notebook(widget)
        page.expose_function("toPython", self._answer)
        page.goto("about:blank")
        page.evaluate(SHOW, {"esm": widget._esm, "state": self._sendable(self.notebook.state)})

    def _sendable(self, state: dict[str, Any]) -> dict[str, Any]:
        return {
            name: b64encode(value).decode() if isinstance(value, bytes) else value
            for name, value in state.items()
            if name not in ("_esm", "layout")
        }

    def _news(self) -> list[dict[str, Any]]:
        news, self.notebook.updates = [self._sendable(each) for each in self.notebook.updates], []
        return news

    def _answer(self, content: dict[str, Any]) -> list[dict[str, Any]]:
        self.notebook.say(**content)
        return self._news()

    def follow(self) -> None:
        """Let the browser have what was set in Python."""
        self.page.evaluate("news => news.forEach(window.take)", self._news())

    def has(self, **traits: Any) -> None:
        """Wait until a click has set traits, in Python and in the model of the browser."""
        for name, value in traits.items():
            expect(self.page.locator("body")).to_have_attribute(f"data-{name}", dumps(value, separators=(",", ":")))
            found = getattr(self.widget, name)
            assert loads(dumps(found)) == value

    def named(self, name: str) -> Locator:
        """A part of the Journey."""
        return self.page.locator(f"[data-name='{name}'], [data-name^='{name},']").first


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with new_tab(browser) as found:
        watch = Watch(found)
        yield found
        assert not watch.faults()


def test_a_click_on_a_head_sets_the_traits_and_the_traits_open_a_head(page: Page) -> None:
    widget = open_model("all-MiniLM-L6-v2").trace(TEXT).widget(layer=1, head=2)
    output = Output(page, widget)
    stage = page.locator(".stage")
    expect(stage).to_have_attribute("data-shown", "1.2")
    page.locator(".cell[data-layer='3'][data-head='5']").click()
    expect(stage).to_have_attribute("data-shown", "3.5")
    output.has(layer=3, head=5)
    page.locator(".cell[data-layer='4'][data-head='0']").click(modifiers=["Shift"])
    page.get_by_role("button", name="Lines").click()
    output.has(mode="lines", heads=[[4, 0], [3, 5]])
    widget.mode = "maps"
    widget.layer = 0
    output.follow()
    expect(stage).to_have_attribute("data-shown", "0.0")
    assert (widget.layer, widget.head, widget.heads) == (0, 0, [(0, 0)])
    expect(page.locator(".map-box")).to_be_visible()
    widget.cell = (3, 1)
    output.follow()
    weight = float(open_model("all-MiniLM-L6-v2").trace(TEXT).attention(0, 0)[3, 1])
    expect(page.locator(".status")).to_contain_text(f"{weight:.3f}")


def test_a_long_text_is_computed_when_its_head_is_opened(page: Page) -> None:
    widget = open_model("all-MiniLM-L6-v2").trace("the bank of the river rose " * 30).widget()
    output = Output(page, widget)
    page.locator(".cell[data-layer='5'][data-head='11']").click()
    expect(page.locator(".stage[data-shown='5.11'][data-full='true']")).to_be_visible()
    output.has(layer=5, head=11)


def test_a_layer_opens_in_the_browser_and_in_python(page: Page) -> None:
    widget = open_model("all-MiniLM-L6-v2").journey(TEXT).widget()
    output = Output(page, widget)
    output.named("Open layer 2").click()
    expect(output.named("Head 7 of layer 2")).to_be_visible()
    output.has(layer=2)
    output.named("Head 7 of layer 2").click()
    expect(page.get_by_text("softmax over all keys")).to_be_visible()
    output.has(layer=2, head=7)
    output.named("Switch off head 7 of layer 2").click()
    expect(page.locator(".banner")).to_be_visible()
    output.has(change="head-2.7")
    widget.change = ""
    widget.layer, widget.token = "embeddings", 3
    output.follow()
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.get_by_text("How the vector of “loves” is made")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_notebooks_unless_python_names_one(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    widget = open_model("all-MiniLM-L6-v2").trace(TEXT).widget()
    output, root = Output(page, widget), page.locator(PAINTED)
    other = {"light": "dark", "dark": "light"}[scheme]
    expect(root).to_have_attribute("data-theme", scheme)
    page.evaluate("other => { document.body.dataset.jpThemeLight = String(other === 'light'); }", other)
    expect(root).to_have_attribute("data-theme", other)
    widget.theme = scheme
    output.follow()
    expect(root).to_have_attribute("data-theme", scheme)
    page.emulate_media(color_scheme=other)
    expect(root).to_have_attribute("data-theme", scheme)


def test_a_widget_keeps_its_keys_and_styles_to_itself_and_leaves_nothing(page: Page) -> None:
    Output(page, open_model("all-MiniLM-L6-v2").trace(TEXT).widget())
    page.locator(".cell[data-layer='0'][data-head='0']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.keys") == 0, "a notebook would take them for its own"
    assert page.evaluate("document.head.querySelectorAll('style').length") == 0
    page.evaluate("window.leave()")
    assert page.evaluate("[...window.heard.values()].flat().length") == 0
