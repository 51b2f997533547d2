"""How high a similarity is for the model: what pages say of it, and the pairs that it is compared with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.background import background_figure, rank_words, ranks_words, summary_words
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.background import (
    BACKGROUND,
    SCALED,
    background,
    background_options,
    is_quick,
    two_backgrounds,
)
from bertviz_core.questions.texts.sentences import closest_pairs, sentence_plan, vector_options
from bertviz_core.questions.view import (
    LONGEST_LINKED,
    Ask,
    Figure,
    Folded,
    Later,
    Link,
    Links,
    Notices,
    Part,
    Section,
    Table,
    Text,
)
from bertviz_core.questions.views.texts import sentences as texts
from bertviz_core.sentences.analysis.background import LEAST_TEXTS
from bertviz_core.sentences.analysis.results import BACKGROUNDS, Background
from bertviz_core.sentences.results import Neighbours, SentenceComparison, off_diagonal
from bertviz_core.text import decimals, escape_markdown

LABEL = SCALED.label
RANK = "percentile rank"
RANKED = {RANK: "%.2f"}
T = TypeVar("T")
ON_DEMAND = (
    f"Whether that is high for such vectors is computed when **{LABEL}** is turned on under **Options**: 200 unrelated "
    "texts are run for it, once."
)
EXPLANATION = (
    "A cosine has no height of its own: in one model unrelated texts have a cosine near 0, in another near 0.8. So 200 "
    "short texts, no two of one subject, become vectors in the same way as the list does, and all 19,900 pairs of them "
    "are compared. The percentile rank of a similarity is the share of these pairs that are less alike; of equal ones "
    "half is counted. It says how unusual a similarity is for texts picked at random, not that two texts mean the "
    "same: texts of one subject are above most of these pairs, whatever they say of it. The pairs of a list of one "
    "subject are a harder background. A text of which the tokenizer knows less than half is left out."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scale(Generic[T]):
    """The pairs with which similarities are compared; they are looked for after the rest of the page is drawn."""

    find: Callable[[], T] | None
    """Computes them; None for a slow model, unless they are asked for."""

    def later(self, show: Callable[[T], Iterable[Part]], otherwise: Sequence[Part] = ()) -> Later:
        """What is shown of similarities with these pairs.

        Args:
            show: from the pairs.
            otherwise: what is shown without them.
        """

        def shown() -> Iterator[Part]:
            if self.find is None:
                yield from otherwise
                return
            try:
                pairs = self.find()
            except BertvizError as error:
                yield Text(f"Similarities have no scale here. {escape_markdown(str(error))}", "caption")
                yield from otherwise
                return
            yield from show(pairs)

        return Later(shown)


def scale_of(opened: Opened, ask: Ask, options: Options, plain: Options) -> Scale[Background]:
    """The pairs with which similarities are compared; for a slow model if they are asked for.

    Args:
        options: those of the similarities.
        plain: those of the vectors of the list.
    """
    if not is_quick(opened, options) and not options.flag(SCALED):
        return Scale(None)
    return Scale(lambda: ask(background, background_options(opened, options, plain)).result)


def rank_line(scale: Scale[Background], similarity: float) -> Part:
    """How high a similarity is, as a line below it."""
    return scale.later(lambda pairs: [Text(f"That is {rank_words(pairs, similarity)}.")])


def _figure(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    plan = sentence_plan(opened, options)
    plain = background_options(opened, options, vector_options(opened, options, plan))
    values = {BACKGROUND.key: options.get(BACKGROUND.key)} if options.get(BACKGROUND.key) == BACKGROUNDS[1] else {}
    answer = ask(background, Options(options.texts, values={**plain.values, **values}))
    computed = Options(options.texts if values else (), values={**plain.values, **values})
    unrelated = answer.result
    yield Text(summary_words(unrelated))
    yield Figure.of(
        background_figure,
        answer,
        f"background {unrelated.pooling} {unrelated.model}",
        below=[Notices([each for each in answer.notices if each != plan.reason], "caption")],
        **explained(EXPLANATION, background, opened, computed),
    )


def closest_parts(
    opened: Opened, ask: Ask, options: Options, sentences: Sequence[str], scale: Scale[Background]
) -> Iterator[Part]:
    """The closest pairs, how high the similarity of the first is, and, folded, what they are compared with."""
    if len(sentences) < 2:
        yield Text("One sentence has no pairs: add another to compare it with.", "caption")
        return
    yield Text("**Closest pairs**")
    pairs = ask(closest_pairs, options.only(*closest_pairs.params, task=options.task)).result
    frame, alt = texts.closest_frame(pairs, sentences), "The closest pairs, the most alike first"

    def ranked(unrelated: Background) -> Iterator[Part]:
        score, word = float(pairs.score[0]), MEASURE_WORDS[pairs.measure]
        both = f"{int(pairs.first[0]) + 1} and {int(pairs.second[0]) + 1}"
        yield Text(f"The closest pair, {both}, has the {word} **{decimals(score)}**, {rank_words(unrelated, score)}.")
        yield Table(_with_ranks(frame, pairs.score, unrelated), alt, SMALL, formats=RANKED)
        yield Folded(LABEL, "sentences_background_figure", lambda: [Section((LISTED,), _figure)])

    yield scale.later(ranked, [Table(frame, alt, SMALL), *_on_demand(scale)])


def _with_ranks(frame: "pd.DataFrame", scores: np.ndarray, unrelated: Background) -> "pd.DataFrame":
    """A table with the percentile ranks of its scores beside them, its first column."""
    frame.insert(1, RANK, unrelated.percentile_ranks(scores))
    return frame


def _on_demand(scale: Scale[T]) -> Sequence[Part]:
    return [Text(ON_DEMAND, "caption")] if scale.find is None else ()


def ranked_neighbours(neighbours: Neighbours, scale: Scale[Background]) -> Part:
    """How high the scores of the sentences nearest to a query are: the nearest in words, and all of them."""

    def ranked(unrelated: Background) -> Iterator[Part]:
        score, word = float(neighbours.score[0]), MEASURE_WORDS[neighbours.measure]
        ranks = ranks_words(unrelated.percentile_ranks(neighbours.score))
        yield Text(f"The nearest sentence has the {word} **{decimals(score)}**, {rank_words(unrelated, score)}.")
        yield Text(f"Percentile ranks of the sentences, in this order: {ranks}.", "caption")

    return scale.later(ranked, _on_demand(scale))


Both = tuple[Background, Background]


def scales_of_both(opened: Opened, ask: Ask, options: Options, shown: Options) -> Scale[Both]:
    """Each model's own pairs of unrelated texts, by which the heights of its cosines are judged.

    Args:
        options: those of the comparison.
        shown: those of the view.
    """
    if not is_quick(opened, options) and not shown.flag(SCALED):
        return Scale(None)
    return Scale(lambda: ask(two_backgrounds, replace(options, texts=())).result)


def both_parts(scale: Scale[Both], compared: SentenceComparison) -> Part:
    """Where the pairs of unrelated texts lie in each model, and the median pair of the list among them."""
    return scale.later(partial(_both_ranges, compared), _on_demand(scale))


def _both_ranges(compared: SentenceComparison, both: Both) -> Iterator[Part]:
    middles = [float(np.median(off_diagonal(each))) for each in (compared.first_cosines, compared.second_cosines)]
    words = [
        f"{where}, 95% of pairs of unrelated texts have a cosine below **{decimals(each.percentile(95), 2)}**, and "
        f"the median pair of this list, {decimals(middle, 2)}, is {rank_words(each, middle)}"
        for where, each, middle in zip(("In the first model", "In the second"), both, middles, strict=True)
    ]
    frame = pd.DataFrame(
        {
            "pairs of unrelated texts": [f"first: {both[0].model}", f"second: {both[1].model}"],
            "mean": [each.mean for each in both],
            **{f"{percent}th percentile": [each.percentile(percent) for each in both] for percent in (5, 95, 99)},
            "median of this list": middles,
            RANK: [each.percentile_rank(middle) for each, middle in zip(both, middles, strict=True)],
        }
    )
    yield Text("**Is that high for these models?**")
    yield Text(f"{words[0]}. {words[1]}.")
    yield Table(frame, "Cosines of pairs of unrelated texts in both models", formats=RANKED)


def both_cosines(compared: SentenceComparison, scale: Scale[Both], cell: tuple[int, int] | None) -> Iterator[Part]:
    """The exact cosines of a clicked cell."""
    if cell is None or max(cell) >= len(compared.sentences):
        yield Text("Choose a cell for the exact cosines of its two sentences.", "caption")
        return
    values = (float(each[cell]) for each in (compared.first_cosines, compared.second_cosines, compared.difference))
    first, second, difference = (f"**{decimals(value, 7)}**" for value in values)
    both = " and ".join(texts.quoted_sentence(place, compared.sentences[place]) for place in cell)
    yield Text(f"{both}: {first} in the first model, {second} in the second, difference {difference}")
    if cell[0] != cell[1]:
        cosines = float(compared.first_cosines[cell]), float(compared.second_cosines[cell])
        yield scale.later(
            lambda pairs: [
                Text(
                    f"In the first model that is {rank_words(pairs[0], cosines[0])}, in the second "
                    f"{rank_words(pairs[1], cosines[1])}."
                )
            ]
        )


def cosine_parts(opened: Opened, ask: Ask, cosine: float) -> Iterator[Part]:
    """How high a cosine of two texts is by the model's own recipe; for a slow model when it is opened."""
    scale: Scale[Background] = Scale(lambda: ask(background, Options()).result)
    later = scale.later(lambda pairs: [Text(f"The cosine **{decimals(cosine)}** is {rank_words(pairs, cosine)}.")])
    yield later if is_quick(opened, Options()) else Folded(LABEL, "words_background_figure", lambda: [later])


def other_shares(page: str, model: str, text: str, pair: str) -> Iterator[Part]:
    """What the shares of a cosine on another page are, in words and with a link."""
    if page == "sentences":
        words = (
            "A word's share here counts what it changes in the vectors of the other words, too. Token contributions "
            "divides the cosine of one run among pairs of tokens: there a word counts with its own vectors alone, so "
            "that signs and order may differ."
        )
        lines = "\n".join(" ".join(each.split()) for each in (text, pair))
        label, values = "Token contributions", {"view": "Token contributions", "source": "typed", "sentences": lines}
    else:
        words = (
            "A word counts here with its own vectors alone. Words that matter takes the word away, which changes the "
            "vectors of the other words, too, so that signs and order may differ."
        )
        label, values = "Words that matter", {"text": text, "pair": pair, "target": "cosine"}
    yield Text(words, "caption")
    if len(text) + len(pair) <= LONGEST_LINKED:
        links = [Link.to(f"The same texts in {label}", page, {"model": model, **values})]
        yield Links(f"{page}_shares", "Other shares of the cosine", links)


LISTED = replace(BACKGROUND, applies=lambda _, options: len(set(options.texts)) >= LEAST_TEXTS)
SMALL = 240
"""Pixels of a table that is scrolled."""


def only_where(shown: Callable[[Options], bool]) -> Param:
    """The control of a slow model, where a view of two models shows their cosines."""
    return replace(SCALED, applies=lambda opened, options: shown(options) and SCALED.applies(opened, options))
