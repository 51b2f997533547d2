"""`make fuzz`: untrusted input, randomly damaged, for a limited time; faults are reported with their case.

A fault is a hang, the end of a process, growth of memory, or an exception that is not a refusal.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from time import monotonic

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
LIMIT_S = 60
"""Most seconds of one case, in real time."""
START_S = 180
"""Most seconds for a process to import what it needs."""
UNBOUNDED = 10**12
SHOWN_FAULTS = 12
"""Most faults shown for one target; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A case that failed."""

    target: str
    case: int
    words: str


def faults(
    target: str, seed: int, seconds: int, folder: Path, first: int = 0, most: int = UNBOUNDED
) -> tuple[list[Fault], int]:
    """Run a target for this time; returns its faults and the number of cases.

    After a process has ended at a case, another one continues with the next case.
    """
    until, case, listed = monotonic() + seconds, first, list[Fault]()
    while case < most and (rest := until - monotonic()) > 0:
        place = folder / f"{target}-{case}"
        place.mkdir()
        numbers = [str(number) for number in (seed, case, most, max(1, int(rest)), LIMIT_S)]
        command = [sys.executable, "-m", "tests.fuzz.worker", target, *numbers, str(place)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=START_S + LIMIT_S + rest
            )
        except subprocess.TimeoutExpired:
            listed.append(Fault(target, case, "the process was not ready, or did not end, in time"))
            break
        written, reached = place / "faults", place / "case"
        lines = written.read_text("utf-8").splitlines() if written.exists() else []
        listed += (Fault(target, *json.loads(line)) for line in lines)
        case = int(reached.read_text()) if reached.exists() else most
        if done.returncode == 0:
            break
        stderr = done.stderr.decode("utf-8", "replace")
        how = f"no answer within {LIMIT_S} s" if "Timeout (" in stderr else f"the process ended ({done.returncode})"
        listed.append(Fault(target, case, f"{how}: {_frame(stderr)}"))
        case += 1
    return listed, case - first


def _frame(stderr: str) -> str:
    """The innermost line of the project in a process's last output, else its last line."""
    frames = re.findall(r'File "[^"]*/((?:bertviz_core|ui|pages|tests)/[^"]+)", line (\d+)', stderr)
    return ":".join(frames[0]) if frames else (stderr.strip().splitlines() or ["nothing said"])[-1][:200]


def _tell(target: str, listed: list[Fault], cases: int) -> None:
    """Print each kind of fault of a target once, with its first case."""
    kinds: dict[str, list[Fault]] = {}
    for fault in listed:
        kinds.setdefault(re.sub(r"\d+", "#", fault.words)[:60], []).append(fault)
    for alike in list(kinds.values())[:SHOWN_FAULTS]:
        print(f"  case {alike[0].case} ({len(alike):,} like it): {alike[0].words}")
    if len(kinds) > SHOWN_FAULTS:
        print(f"  and {len(kinds) - SHOWN_FAULTS:,} more kinds")
    print(f"{target}: {cases:,} cases, {len(listed):,} faults of {len(kinds):,} kinds", flush=True)


def main() -> None:
    """Run the targets, each for its share of the time; exit code 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="Read what strangers bring, made wrong at random.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=180, help="for all targets together, their start not counted")
    parser.add_argument("--seed", type=int, help="of the generator; another one each time by default")
    parser.add_argument("--case", type=int, help="run this case alone")
    arguments = parser.parse_args()
    seed = randbelow(10**6) if arguments.seed is None else arguments.seed
    names = arguments.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no target {sorted(unknown)[0]!r}; there are {', '.join(TARGETS)}")
    print(f"seed {seed}; a case is repeated by python -m tests.fuzz TARGET --seed {seed} --case CASE", flush=True)
    first, most = (0, UNBOUNDED) if arguments.case is None else (arguments.case, arguments.case + 1)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            share = max(1, arguments.seconds // len(names))
            listed, cases = faults(name, seed, share, Path(folder), first, most)
            _tell(name, listed, cases)
            failed |= bool(listed) or not cases
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
