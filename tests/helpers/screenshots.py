"""Pictures of the dashboard for README and the documentation site: `make screenshots` takes them all again.

`python -m tests.helpers.screenshots [NAME ...]` serves the dashboard, with a corpus that it embeds,
opens each address of docs/images/pictures.yaml in Chromium at 1400 x 900 and writes docs/images/NAME.webp.
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


def pictures() -> dict[str, dict[str, Any]]:
    """Content of docs/images/pictures.yaml: name, which is a page's, -> its title, query and alt text."""
    asked: dict[str, dict[str, Any]] = yaml.safe_load((IMAGES / "pictures.yaml").read_text(encoding="utf-8"))
    return asked


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
    wanted = pictures()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        _embed(home)
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=list(ARGUMENTS))
        with serving(home) as url, new_tab(browser) as page:
            for name in names or wanted:
                page.goto(f"{url}/{name}?{urlencode(wanted[name].get('query', {}))}")
                expect(page.get_by_role("heading", name=wanted[name]["title"], exact=True)).to_be_visible()
                until(page, f"{SETTLED} && !{RUNNING}")
                page.evaluate(AT_REST)
                picture = Image.open(io.BytesIO(page.screenshot()))
                picture.save(IMAGES / f"{name}.webp", quality=QUALITY, method=6)
                sys.stdout.write(f"docs/images/{name}.webp\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
