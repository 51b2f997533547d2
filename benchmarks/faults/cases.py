"""Shared parts of the fault cases: table rows, messages as readers see them, and small models."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.load.visitor import VisitResult
from benchmarks.report import ROOT
from benchmarks.timing import Row

LONGEST = 160
MAKE = """
import sys
from pathlib import Path
from tests.helpers.tiny_models import save_tiny
import torch
for name, layers in zip(sys.argv[2::2], sys.argv[3::2]):
    save_tiny("bert", Path(sys.argv[1]) / name, num_hidden_layers=int(layers))
"""


def tiny(folder: Path, **layers: int) -> None:
    """Save small models with a tokenizer: name -> number of layers."""
    arguments = [word for name, count in layers.items() for word in (name, str(count))]
    subprocess.run([sys.executable, "-c", MAKE, str(folder), *arguments], cwd=ROOT, check=True, capture_output=True)


def row(case: str, observed: str, outcome: str, promised: str, holds: bool) -> Row:
    """A row of the table: the case, what the reader saw, what was preserved, what is promised."""
    return Row(case, shortened(observed), outcome, promised, holds)


def shortened(words: str) -> str:
    """Shorten a message for a table."""
    words = " ".join(words.split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def one_sentence(visit: VisitResult) -> bool:
    """Whether a page refused with one message, without any other fault."""
    return not visit.errors and len(set(visit.refusals)) == 1 and "Traceback" not in visit.refusals[0]


def went_well(visit: VisitResult) -> bool:
    """Whether a page was drawn without a refusal."""
    return not visit.errors and not visit.refusals


def summary(pages: Sequence[VisitResult]) -> str:
    """The first fault or refusal on some pages."""
    return next((words for visit in pages for words in (*visit.errors, *visit.refusals)), "the page")
