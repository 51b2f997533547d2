"""The overview page in a browser."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 21, 27)"}
EVIL = (
    "<img src=x onerror=alert(1)>",
    "![a](http://evil.example/x.png)",
    "[a](http://evil.example)",
    ":material/home: :red[r]",
    "www.evil.example me@evil.example",
)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "scheme"), [("light", "light"), ("dark", "dark")], indirect=["page"])
def test_the_stack_is_drawn_on_the_ground_of_the_page(page: Page, server: str, scheme: str) -> None:
    page.goto(f"{server}/overview")
    picture = page.locator(".js-plotly-plot .main-svg").first
    expect(picture).to_have_css("background-color", GROUND[scheme])
    expect(page.locator(".stApp")).to_have_css("background-color", GROUND[scheme])
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("22,713,216")
    expect(page.locator(".js-plotly-plot .annotation", has_text="30,522 × 384")).to_be_visible()
    expect(page.locator(".js-plotly-plot .annotation", has_text="12 heads × 32")).to_be_visible()
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("^all-MiniLM-L6-v2 · "))


@pytest.mark.slow
def test_the_link_to_the_parameters_keeps_the_model(page: Page, server: str) -> None:
    page.goto(f"{server}/overview?model=distilbert-base-uncased")
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("66,362,880")
    page.get_by_role("link", name="Parameters: where are the parameters?").click()
    expect(page.get_by_role("heading", name="Parameters", exact=True)).to_be_visible()
    expect(page).to_have_url(f"{server}/parameters?model=distilbert-base-uncased")
    expect(page.locator(".sunburstlayer text", has_text="embeddings").first).to_be_visible()
    expect(page.get_by_text("100 tensors, 66,362,880 parameters")).to_be_visible()


@pytest.mark.sample(2)
@pytest.mark.parametrize("evil", EVIL)
def test_the_address_is_never_read_as_html_or_markdown(page: Page, server: str, evil: str) -> None:
    page.goto(f"{server}/overview?model={quote(evil)}")
    alert = page.get_by_role("alert")
    # An address may contain word joiners, which have no width.
    expect(alert).to_contain_text(re.compile("\u2060?".join(map(re.escape, f"No model '{evil}' found"))))
    assert alert.locator("a, img, iframe, em, strong, code, [style*=color]").count() == 0
    assert page.locator("img[src='x'], img[src*=evil], a[href*='//evil'], a[href*='//www.evil']").count() == 0
    assert page.locator("a[href^=mailto]").count() == 0


@pytest.mark.slow
def test_after_a_refusal_another_model_can_be_chosen(page: Page, server: str) -> None:
    page.goto(f"{server}/overview?model=no-such-model")
    expect(page.get_by_role("alert")).to_have_count(1)
    page.get_by_role("combobox", name="Model").fill("all-MiniLM-L6-v2")
    page.get_by_role("option", name="all-MiniLM-L6-v2 · ready · 22.7 M").click()
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("22,713,216")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page).to_have_url(f"{server}/overview")
