"""Write docs/benchmarks.md: each command writes its own section, with date, machine and all rows."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from benchmarks.timing import Row

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "benchmarks.md"
SECTIONS = {
    "bench": "The work beside its alternatives, both in the same run.",
    "bench-pages": (
        "What readers wait for: the first picture of every page, and every control, from the click to its last change. "
        "What is painted after the server's last message is the browser's work."
    ),
    "bench-corpus": "Corpora beside the alternatives in the same run, scaled down as the lines say.",
    "bench-gpu": "Work on a GPU beside its alternatives on the same card, and its numbers beside those of the CPU.",
    "load": "Many visitors on one instance.",
    "load-replicas": "More visitors on several instances behind the shipped proxy.",
    "faults": "What a reader sees when something breaks, and that nothing is lost.",
}
HEAD = """# Measured

Each section is written by the command that it is named after, when that has run to its end; nothing here is written by
hand. The figures are those of the machine named in the section and of no other. A budget that was missed says so.
"""
MODEL_NAME = "model name"


def write(section: str, rows: Sequence[Row], note: str = "", card: str = "") -> None:
    """Write the rows of a section into the document; other sections are unchanged.

    Args:
        section: name of the section, one of SECTIONS.
        rows: its rows.
        note: what a reader has to know of this run.
        card: the GPU on which it ran.

    Raises:
        ValueError: there is no such section.
    """
    if section not in SECTIONS:
        raise ValueError(f"no section {section!r}")
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    DOCUMENT.write_text(replaced(text, section, _section(section, rows, note, card)), encoding="utf-8")


def replaced(document: str, section: str, text: str) -> str:
    """Replace the text of one section of the document; sections are in the order of SECTIONS."""
    parts: dict[str, str] = {}
    for part in document.split("\n## ")[1:]:
        parts[part.partition("\n")[0].removeprefix("make ").strip()] = part.strip()
    parts[section] = text.strip().removeprefix("## ")
    return "\n\n".join([HEAD.strip(), *(f"## {parts[name]}" for name in SECTIONS if name in parts)]) + "\n"


def machine(card: str = "") -> str:
    """This machine and its software, in one line; the GPU first if one is named."""
    cores = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count()
    memory = psutil.virtual_memory().total / 1024**3
    gpu = f"{card}, " if card else ""
    measured = ("torch", "transformers") if card else ("torch", "transformers", "streamlit")
    packages = ", ".join(f"{name} {version(name)}" for name in measured)
    return (
        f"{gpu}{_processor()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {packages}"
    )


def _processor() -> str:
    """Name of the processor, from the system's own file if platform lacks it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(errors="replace").splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(MODEL_NAME)]
    return names[0] if names else platform.processor() or "processor unnamed"


def _section(section: str, rows: Sequence[Row], note: str, card: str) -> str:
    lines = [f"## make {section}", "", f"{SECTIONS[section]} {note}".strip(), ""]
    lines += [f"{datetime.now(UTC):%Y-%m-%d}, on {machine(card)}.", ""]
    lines += ["| what was done | found | beside it | promised | |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (row.work, row.ours, row.alternative, row.budget, row.verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
