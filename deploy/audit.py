"""Known vulnerabilities of what the image installs, by pip-audit; exit code 1 where there is one.

It is skipped with its reason without a network, or with an index that keeps no advisories.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("requirements-hashed.txt", "requirements-sign-in.txt")
COMMAND = ("-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")
TIMEOUT_S = 300


def verdict(answer: str, trouble: str) -> tuple[int, str]:
    """Exit code and words for what pip-audit wrote to stdout and stderr."""
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (trouble.strip().splitlines() or ["no answer"])[-1]
        return 0, f"audit skipped: {last[:300]}"
    known = [f"{each['name']} {each['version']}: {bug['id']}" for each in packages for bug in each.get("vulns", ())]
    if known:
        return 1, "known vulnerabilities:\n" + "\n".join(known)
    checked = [each for each in packages if "skip_reason" not in each]
    if not checked:
        return 0, f"audit skipped: the index has no advisories on any of {len(packages)} packages"
    return (
        0,
        f"audit: no known vulnerability in {len(checked)} of {len(packages)} packages; the others are not in the index",
    )


def main() -> int:
    """Ask, and say what came of it."""
    files = [word for name in FILES for word in ("-r", str(HERE / name))]
    try:
        done = subprocess.run(  # noqa: S603  # words of this file alone
            [sys.executable, *COMMAND, *files], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        code, words = verdict(done.stdout, done.stderr)
    except subprocess.TimeoutExpired:
        code, words = 0, f"audit skipped: no answer within {TIMEOUT_S} s"
    sys.stdout.write(f"{words}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
