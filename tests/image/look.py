"""Open addresses in a Chromium of this machine, and print what it saw, one JSON object per line.

python look.py URL TEXT ...: each page must finish with TEXT on it. Then it waits until its stdin is closed.
"""

import json
import os
import shutil
import sys

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
WAIT_MS = 120_000
OWN = "http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"


def look(page: Page, url: str, text: str) -> dict[str, object]:
    beyond: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(OWN) else beyond.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(url)
    page.get_by_text(text).first.wait_for(timeout=WAIT_MS)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT_MS)
    heading = page.locator("h1").first.inner_text()
    faults += page.locator("[data-testid=stException]").all_inner_texts()
    return {"url": url, "heading": heading, "beyond": beyond, "faults": faults}


def main() -> None:
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium") or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        for url, text in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
            sys.stdout.write(json.dumps(look(page, url, text)) + "\n")
            sys.stdout.flush()
        sys.stdin.read()
        browser.close()


if __name__ == "__main__":
    main()
