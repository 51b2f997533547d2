"""Settings of pip on this machine for the build: a pip.conf, and the folders and files that it names.

python3 pip_settings.py FILE writes the settings to FILE and prints each path that the build must see, one per line.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

LOCAL = re.compile(r"(?:file://)?(/[^\s]+)")


def settings(listing: str) -> dict[str, str]:
    """Option -> value from `pip config list`; later lines, such as the environment's, have priority, as in pip."""
    found: dict[str, str] = {}
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if section in (":env:", "global", "install") and option != "config-file":
            found[option] = str(ast.literal_eval(value))
    return found


def places(values: dict[str, str]) -> list[Path]:
    """Paths in the settings that exist on this machine; for an index folder its parent, which has its files."""
    found = []
    for value in values.values():
        for word in value.split():
            if (match := LOCAL.fullmatch(word)) and Path(match[1]).exists():
                path = Path(match[1])
                found.append(path.parent if path.name == "simple" else path)
    return sorted(set(found))


def main() -> None:
    listing = subprocess.run(
        ["python3", "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    values = settings(listing)
    lines = ["[global]", *(f"{option} = {' '.join(value.split())}" for option, value in values.items())]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
    sys.stdout.writelines(f"{path}\n" for path in places(values))


if __name__ == "__main__":
    main()
