"""Format text and numbers for the pages."""

import re
import string
from typing import TYPE_CHECKING, Any

from bertviz_core.text import shortened

if TYPE_CHECKING:  # the server's entry formats text before any page is imported
    from bertviz_core.corpus.analysis.results import CorpusMap
    from bertviz_core.sentences.results import SentenceMap
    from ui.cache.jobs import Job

_WORD_JOINER = "\u2060"
_ADDRESS = re.compile(r"(?<=[a-z0-9+.-]):(?=//)|www(?=\.)|\S(?=@)", re.IGNORECASE)
"""The start of a URL; no alternative repeats anything, so matching takes linear time."""
LONGEST_TEXT = 20_000
"""Most characters of a text on a page."""
_MARKS = {ord(mark): f"\\{mark}" for mark in string.punctuation}
_TURNS = {code: f"U+{code:04X}" for code in (*range(0x202A, 0x202F), 0x2066, 0x2067)}
"""Control characters that change the direction of the text after them."""


def escape_markdown(text: str) -> str:
    """Escape a text for Markdown: no links, images, emphasis, formulas or icons.

    Characters that change the direction of text are shown as their codes. URLs become links even when every mark is
    escaped, so they are split by a word joiner, which has no width. A text beyond LONGEST_TEXT characters is cut.
    """
    parted = _ADDRESS.sub(lambda found: f"{found[0]}{_WORD_JOINER}", " ".join(shortened(text, LONGEST_TEXT).split()))
    return parted.translate(_MARKS | _TURNS)


BERT_IS_FOR = (
    "BERT reads a whole text and gives each token a vector that depends on all the others. With them a text is "
    "searched for, classified, tagged, or asked a question."
)
BERT_IN_FIVE = (
    "BERT is a **bidirectional encoder**: every token attends to every other token, to its left and to its right.",
    "It is **auto-encoding**: in training some tokens are hidden behind `[MASK]`, and the model restores them "
    "from both sides.",
    "It is the **encoder half of the transformer** (Vaswani et al. 2017; Devlin et al. 2019): it reads a text whole "
    "and writes nothing.",
    "A text begins with `[CLS]`, whose last vector stands for the whole in classification, and every sequence ends "
    "with `[SEP]`.",
    "It takes **one sequence or two**: a pair is one input, the second sequence behind the first `[SEP]` with a "
    "token type of its own where the family has token types.",
)
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def run_words(device: str, dtype: str) -> str:
    """Where a model ran and in which number format: "on cpu in float32"."""
    return f"on {device} in {dtype}"


def class_words(saved: str, counted: str) -> str:
    """The class named by a checkpoint and the class that is counted, where they differ."""
    return counted if saved in ("", counted) else f"saved as {saved}, counted as {counted}"


def count(value: int | None) -> str:
    """A count with separators; a dash for None."""
    return "–" if value is None else f"{value:,}"


def short_count(value: int) -> str:
    """A count in short form: 109.5 M."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if value >= size * 0.99995 and value >= 1000:  # rounded to one decimal, it reaches this unit
            return f"{value / size:.1f} {unit}"
    return str(value)


def bytes_text(value: float) -> str:
    """Bytes in the largest suitable unit: 86.6 MiB."""
    power = 0
    while round(value, 1 if power else 0) >= 1024 and power < len(UNITS) - 1:
        value /= 1024
        power += 1
    return f"{value:,.0f} bytes" if power == 0 else f"{value:,.1f} {UNITS[power]}"


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def steps_done(job: "Job[Any]", noun: str, with_rate: bool = True) -> str:
    """Steps of a job that are done, with their rate and the time left once they are known.

    Args:
        job: a running job.
        noun: what its steps are, such as "sentences".
        with_rate: whether the rate is named beside the time left.
    """
    done, left = f"{job.done:,} of {job.total:,} {noun}", job.seconds_left
    if left is None:
        return done
    about = "about " if left >= 1 else ""
    rate = f"{job.rate:,.{int(job.rate < 10)}f} per second, " if with_rate else ""
    return f"{done}, {rate}{about}{duration(left)} left"


def variance_words(placed: "CorpusMap | SentenceMap") -> str:
    """The share of the variance that a plane of points shows, if it is known, and the note on how it was made."""
    if placed.explained is None:
        return escape_markdown(placed.note)
    return f"The plane holds **{float(placed.explained.sum()):.1%}** of the variance. {escape_markdown(placed.note)}"
