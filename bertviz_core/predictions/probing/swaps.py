"""Word swaps: templates with the one and the other word of a pair, what a model answers to both, and intervals."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.predictions.run import HeadModel
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models import SECOND_COLUMNS, usual_column
from bertviz_core.text import escape_controls, quoted, repair_surrogates
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer

SLOT, BETWEEN = "{}", "/"
"""Place of the word in a template; what stands between the words of a typed pair, where no tab does."""
MOST_TEXTS = 10_000
COVERED = 0.95
CLASSES, SURPRISE, COSINE = COMPARED_BY = ("classes", "surprise", "cosine")
SURPRISES = ("mean surprise", "pseudo-log-likelihood")
SHOWN = 60
"""Most characters of a text in a message."""

WordPair = tuple[str, str]
TextPair = tuple[str, str | None]


class SwapSet(NamedTuple):
    """Pairs of words and templates, written for this project."""

    pairs: tuple[str, ...]
    templates: tuple[str, ...]


SETS: Mapping[str, SwapSet] = {
    name: SwapSet(tuple(each["pairs"]), tuple(each["templates"]))
    for name, each in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")).items()
}
"""Sets of pairs and templates by name; the templates of negation all praise something."""


class Swaps(NamedTuple):
    """Checked pairs and templates."""

    pairs: tuple[WordPair, ...]
    templates: tuple[TextPair, ...]

    def texts(self) -> tuple[TextPair, ...]:
        """The texts, by pair, then template, then word."""
        return tuple(
            (text.replace(SLOT, word), second if second is None else second.replace(SLOT, word))
            for pair in self.pairs
            for text, second in self.templates
            for word in pair
        )


class SwapValues(NamedTuple):
    """Numbers of texts."""

    outputs: tuple[str, ...]
    unit: str
    values: Float[np.ndarray, "texts outputs"]
    notices: tuple[str, ...]


def checked_swaps(pairs: Sequence[str], templates: Sequence[str]) -> Swaps:
    """Parse pairs, such as "he / she", and templates, a second text of which follows a tab."""
    if (count := 2 * len(pairs) * len(templates)) > MOST_TEXTS:
        raise TextError(
            f"{len(pairs):,} pairs in {len(templates):,} templates are {count:,} texts; at most {MOST_TEXTS:,} are "
            "read. Give fewer pairs or templates."
        )
    words = tuple(_pair(place, line) for place, line in enumerate(pairs, start=1))
    parsed = tuple(_template(place, line) for place, line in enumerate(templates, start=1))
    for what, rows in (("pair", words), ("template", parsed)):
        firsts: dict[object, int] = {}
        for place, row in enumerate(rows, start=1):
            if firsts.setdefault(row, place) != place:
                same = f"{what.capitalize()} {place:,} is the same as {what} {firsts[row]:,}"
                raise TextError(f"{same}; leave one of them out.")
    if len({second is None for _, second in parsed}) == 2:
        raise TextError("Some templates have a second text and others none; give one to all of them, or to none.")
    return Swaps(words, parsed)


def line_of(parts: str | Sequence[str]) -> str:
    """A pair of words, or a template with its second text, as a line: with a tab between the two."""
    line = parts if isinstance(parts, str) else "\t".join(parts)
    if len(line.splitlines()) > 1 or (not isinstance(parts, str) and any("\t" in part for part in parts)):
        raise TextError(f"{_quoted(line)} has a tab or a line break in it; write a space instead.")
    return line


def pair_lines(table: SentenceTable) -> tuple[str, ...]:
    """The pairs of a table with two columns, each with a tab between the words, or the lines of a text file."""
    if table.column is None:
        return table.sentences
    others = [str(name) for name in table.frame.columns]
    if len(others) != 1:
        raise TextError(
            f"{quoted(table.name)} has {len(others) + 1:,} columns; give one with two columns, a word of each pair in "
            f"each, or lines such as he {BETWEEN} she."
        )
    pairs = zip(table.sentences, gold_column(table, others[0]), strict=True)
    is_first = table.columns.index(table.column) < (table.columns.index(others[0]) if others[0] in table.columns else 2)
    return tuple("\t".join(pair if is_first else pair[::-1]) for pair in pairs)


def template_lines(table: SentenceTable, second: str = "") -> tuple[str, ...]:
    """The templates of a table, each with its second text after a tab where the table has a column of these."""
    second = second or usual_column(list(map(str, table.frame.columns)), SECOND_COLUMNS)
    if not second:
        return table.sentences
    return tuple(map("\t".join, zip(table.sentences, gold_column(table, second), strict=True)))


def _pair(place: int, line: str) -> WordPair:
    words = [repair_surrogates(word).strip() for word in line.split("\t" if "\t" in line else BETWEEN)]
    if len(words) != 2 or not all(words):
        count = sum(map(bool, words))
        raise TextError(
            f"Pair {place:,}, {_quoted(line)}, has {count:,} {'word' if count == 1 else 'words'}; give two with "
            f"{BETWEEN} between them, such as he {BETWEEN} she."
        )
    if words[0] == words[1]:
        raise TextError(f"Pair {place:,} is {_quoted(words[0])} twice; give two different words.")
    return words[0], words[1]


def _template(place: int, line: str) -> TextPair:
    text, tab, second = repair_surrogates(line).partition("\t")
    if "\t" in second:
        raise TextError(f"Template {place:,}, {_quoted(line)}, has more than two texts; give one, or two.")
    if (count := line.count(SLOT)) != 1:
        has = f"{count:,} slots" if count else "no slot"
        raise TextError(f"Template {place:,}, {_quoted(line)}, has {has}; write {SLOT} once, where the word stands.")
    return text.strip(), second.strip() if tab else None


def _quoted(line: str) -> str:
    return quoted(escape_controls(line), SHOWN)


def check_read(swaps: Swaps, rows: Sequence[Tokens]) -> tuple[str, ...]:
    """Refuse texts whose word was cut off; returns a notice where the two texts of a pair have the same tokens.

    Args:
        rows: tokens of `Swaps.texts`.
    """
    alike = 0
    for start in range(0, len(rows), 2):
        template = swaps.templates[start // 2 % len(swaps.templates)]
        same = bool(np.array_equal(rows[start].input_ids, rows[start + 1].input_ids))
        alike += same
        for tokens in rows[start : start + 2]:
            if _is_cut_off(tokens, template, same):
                most, which = tokens.limit or len(tokens), _quoted(" ".join(filter(None, template)))
                where = f"the slot of the template {which} lies behind them"
                raise TextError(f"The model reads {most:,} tokens, and {where}; shorten the template.")
    if not alike:
        return ()
    return (
        f"{alike:,} of {len(rows) // 2:,} pairs of texts have the same tokens, so the model cannot tell them apart.",
    )


def _is_cut_off(tokens: Tokens, template: TextPair, same: bool) -> bool:
    """Whether the word was cut off, by the offsets of the tokens; without these, whether both texts became the same."""
    side = 0 if SLOT in template[0] else 1
    if not tokens.tokens_cut[side]:
        return False
    if tokens.offsets is None or tokens.filled is not None:
        return same
    whole, after = (tokens.text, tokens.pair)[side] or "", str(template[side]).partition(SLOT)[2]
    ends = [span[1] for span, text in zip(tokens.offsets, tokens.sequence, strict=True) if span and text == side]
    return max(ends, default=0) < len(whole) - len(after)


def class_values(head: HeadModel, rows: Sequence[Tokens], progress: Progress = no_progress) -> SwapValues:
    """Probabilities of the classes of texts; of a head that answers with a number, its logits."""
    answers = class_predictions(head, rows, progress)
    first = answers[0]
    values = np.stack([each.logits if each.probabilities is None else each.probabilities for each in answers])
    unit = "logit" if first.probabilities is None else "probability"
    return SwapValues(first.labels, unit, values, tuple(notice for each in answers for notice in each.notices))


def masked_count(rows: Sequence[Tokens]) -> int:
    """Number of tokens that are masked for the surprise of texts."""
    return sum(int((~each.special).sum()) for each in rows)


def surprise_values(
    head: HeadModel, tokenizer: TextTokenizer, rows: Sequence[Tokens], part: Callable[[int], Progress]
) -> SwapValues:
    """Mean surprise of the tokens of texts, and their pseudo-log-likelihood, which is minus the sum.

    Args:
        part: from the number of tokens before a text to what is called with its progress.
    """
    values: list[tuple[float, float]] = []
    notices: list[str] = []
    done = 0
    for tokens in rows:
        each = pseudo_likelihood(head, tokenizer, tokens, part(done))
        done += masked_count([tokens])
        values.append((each.mean, -np.nansum(each.surprise, dtype=np.float64)))
        notices += each.notices
    return SwapValues(SURPRISES, "nats", np.array(values, dtype=np.float64), tuple(notices))


def mean_intervals(
    numbers: Float[np.ndarray, "pairs templates outputs"],
) -> tuple[Float[np.ndarray, "rows outputs"], Float[np.ndarray, "2 rows outputs"]]:
    """Means over templates and their 95% t intervals, for each pair, and for more than one pair of all.

    The interval of all pairs is that of the means of each template, since the numbers of a template belong together.
    """
    from scipy.special import stdtrit

    rows = numbers.astype(np.float64)
    if len(rows) > 1:
        rows = np.concatenate([rows, rows.mean(axis=0, keepdims=True)])
    count, mean = rows.shape[1], rows.mean(axis=1)
    if count == 1:
        return mean, np.full((2, *mean.shape), np.nan)
    reach = stdtrit(count - 1, (1 + COVERED) / 2) * rows.std(axis=1, ddof=1) / np.sqrt(count)
    return mean, np.stack([mean - reach, mean + reach])
