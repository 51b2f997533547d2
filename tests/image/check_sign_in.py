"""Sign-in from end to end: Streamlit's OpenID Connect with a local provider, in a browser.

python check_sign_in.py, by a Python with playwright; installs deploy/requirements-sign-in.txt into its own folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

from findings import demand
from look import ARGUMENTS, WAIT_MS
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
APP, PROVIDER = 8951, 8952
URL = f"http://127.0.0.1:{APP}"
SECRETS = f"""
[auth]
redirect_uri = "{URL}/oauth2callback"
cookie_secret = "only-for-this-check-and-long-enough-to-sign"
client_id = "inside-bert"
client_secret = "only for this check"
server_metadata_url = "http://127.0.0.1:{PROVIDER}/.well-known/openid-configuration"
"""


def answered(url: str) -> None:
    pause = threading.Event()
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            pause.wait(0.05)
    raise SystemExit(f"FAILED: {url} does not answer")


def in_and_out(page: Page) -> None:
    page.goto(f"{URL}/")
    page.get_by_role("button", name="Sign in").wait_for(timeout=WAIT_MS)
    demand(page.get_by_text("alone").count() == 0, "who has not signed in sees nothing of the page")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("For ada@example.org alone").wait_for(timeout=WAIT_MS)
    demand(page.get_by_text("Signed in as Ada Lovelace").count(), "after the provider's yes the page is there")
    page.reload()
    page.get_by_text("For ada@example.org alone").wait_for(timeout=WAIT_MS)
    demand(True, "  and stays there when loaded again")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for(timeout=WAIT_MS)
    demand(page.get_by_text("alone").count() == 0, "after signing out it is gone")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "secrets.toml").write_text(SECRETS)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(home / "packages")]
        subprocess.run([*install, "-r", str(ROOT / "deploy" / "requirements-sign-in.txt")], check=True)
        environment = os.environ | {"PYTHONPATH": f"{home / 'packages'}:{ROOT}", "HOME": folder}
        command = [sys.executable, "-m", "streamlit", "run", str(HERE / "apps" / "signed_in.py"), "--server.port"]
        command += [str(APP), "--server.address", "127.0.0.1", "--secrets.files", str(home / "secrets.toml")]
        with open(home / "log", "wb") as log:
            options = {"cwd": ROOT, "env": environment, "stdout": log, "stderr": log}
            started = [subprocess.Popen(command, **options)]
            started += [subprocess.Popen([sys.executable, str(HERE / "provider.py"), str(PROVIDER)], **options)]
            try:
                answered(f"{URL}/_stcore/health")
                answered(f"http://127.0.0.1:{PROVIDER}/keys")
                with sync_playwright() as playwright:
                    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or playwright.chromium.executable_path
                    browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
                    in_and_out(browser.new_page())
                    browser.close()
            except BaseException:
                sys.stderr.write((home / "log").read_text()[-3_000:])
                raise
            finally:
                for each in started:
                    each.terminate()
                    each.wait(30)


if __name__ == "__main__":
    main()
