"""Format text and numbers for the pages."""

from typing import TYPE_CHECKING, Any

from bertviz_core.text import escape_markdown

if TYPE_CHECKING:  # the server's entry formats text before any page is imported
    from bertviz_core.corpus.analysis.results import CorpusMap
    from bertviz_core.sentences.results import SentenceMap
    from ui.cache.jobs import Job

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


def run_words(device: str, dtype: str) -> str:
    """Where a model ran and in which number format: "on cpu in float32"."""
    return f"on {device} in {dtype}"


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
