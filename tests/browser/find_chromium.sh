#!/bin/sh
# Prints the path of a Chromium for the browser tests; installs one where there is none. $1: folder of the venv's programs.
for name in "$CHROMIUM" chromium chromium-browser google-chrome; do
    found=$(command -v "$name" 2>/dev/null) && echo "$found" && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update && apt-get install -y chromium; } >&2 || exit 1
    command -v chromium
    exit
fi
"$1/playwright" install chromium >&2 || exit 1
"$1/python" -c 'from playwright.sync_api import sync_playwright
with sync_playwright() as play: print(play.chromium.executable_path)'
