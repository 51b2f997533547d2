"""Pictures of the dashboard for README and the documentation site: `make screenshots` takes them all again.

`python -m tests.helpers.screenshots [NAME ...]` serves the dashboard, with a corpus that it embeds,
opens each address of docs/images/pictures.yaml in Chromium at 1400 x 900 and writes docs/images/NAME.webp; docs/images/
journey.yaml has those of the drawing of the Journey, in other sizes, themes and families.
"""

import csv
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import ARGUMENTS, chromium, new_tab, serving, until
from tests.browser.test_first_screen import SETTLED
from tests.helpers.template_corpus import VERBS, templates
from tests.helpers.tiny_models import save_tiny

IMAGES = Path(__file__).parents[2] / "docs" / "images"
QUALITY = 86
"""Quality of WebP images: text stays sharp, and an image takes about 60 kB."""
RUNNING = "document.querySelector('[data-testid=stStatusWidget], [data-testid=stSpinner]')"
AT_REST = """() => new Promise((done) => {
  let seen = 0;
  const look = () => (seen++ < 30 ? requestAnimationFrame(look) : done());
  look();
})"""
"""Half a second of frames, so that stepwise drawing has ended."""


def pictures(file: str = "pictures.yaml") -> dict[str, dict[str, Any]]:
    """Content of docs/images/pictures.yaml: name, which is a page's, -> its title, query and alt text."""
    settings: dict[str, dict[str, Any]] = yaml.safe_load((IMAGES / file).read_text(encoding="utf-8"))
    return settings


def drawings(home: Path) -> dict[str, dict[str, Any]]:
    """The pictures of docs/images/journey.yaml, whose tiny models are saved in the home."""
    settings = pictures("journey.yaml")
    for picture in settings.values():
        query = {"embed": "true", "figure": "only", **picture.get("query", {})}
        if "family" in picture:
            save_tiny(picture["family"], home / "models" / f"tiny-{picture['family']}")
            query |= {"model": f"tiny-{picture['family']}", "text": "i love my pet python"}
        picture |= {"page": "journey", "query": query, "size": picture.get("size", (1200, 675))}
    return settings


def _embed(home: Path) -> None:
    """Embed a corpus of template sentences, like a user."""
    with open(home / "sentences.csv", "w", encoding="utf-8", newline="") as file:
        rows = [(topic, next(verb for verb in VERBS if verb in text), text) for topic, text in templates()]
        csv.writer(file).writerows([("topic", "what happens", "text"), *rows])
    command = [sys.executable, "-m", "bertviz_core", "corpus", "embed", "all-MiniLM-L6-v2"]
    folder = home / "corpora" / "eight-topics"
    subprocess.run([*command, home / "sentences.csv", "-o", folder, "--column", "text"], check=True)


def main(names: list[str]) -> None:
    """Take these pictures, by default all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        _embed(home)
        offered = pictures() | drawings(home)
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=list(ARGUMENTS))
        with serving(home) as url, new_tab(browser) as page:
            for name in names or offered:
                picture = offered[name]
                width, height = picture.get("size", (1400, 900))
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=picture.get("theme", "light"))
                page.goto(f"{url}/{picture.get('page', name)}?{urlencode(picture.get('query', {}))}")
                if "title" in picture:
                    expect(page.get_by_role("heading", name=picture["title"], exact=True)).to_be_visible()
                else:
                    page.locator(".journey svg").wait_for()
                until(page, f"{SETTLED} && !{RUNNING}")
                page.evaluate(AT_REST)
                image = Image.open(io.BytesIO(page.screenshot()))
                image.save(IMAGES / f"{name}.webp", quality=QUALITY, method=6)
                sys.stdout.write(f"docs/images/{name}.webp\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
