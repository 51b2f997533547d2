"""How high a similarity is for the model: what pages say of it, and the pairs that it is compared with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.background import background_figure, rank_words, summary_words
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
from bertviz_core.questions.view import Ask, Figure, Folded, Notices, Part, Section, Table, Text
from bertviz_core.questions.views import sentences_texts as texts
from bertviz_core.sentences.background import LEAST_TEXTS
from bertviz_core.sentences.results import BACKGROUNDS, Background, Neighbours, SentenceComparison, off_diagonal
from bertviz_core.text import decimals, escape_markdown

LABEL = SCALED.label
RANK = "percentile rank"
ON_DEMAND = f"Whether that is high for this model takes a while to find out: turn on **{LABEL}** under **Options**."
EXPLANATION = (
    "A cosine has no height of its own: in one model unrelated texts have a cosine near 0, in another near 0.8. So 200 "
    "short texts, no two of one subject, become vectors in the same way as the list does, and all 19,900 pairs of them "
    "are compared. The percentile rank of a similarity is the share of these pairs that are less alike; of equal ones "
    "half is counted. It says how unusual a similarity is for texts picked at random, not that two texts mean the "
    "same: texts of one subject are above most of these pairs, whatever they say of it. The pairs of a list of one "
    "subject are a harder background. A text of which the tokenizer knows less than half is left out."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The pairs with which similarities are compared, or why there are none."""

    background: Background | None
    parts: Sequence[Part] = ()
    """What is said where there are none."""

    def words(self, similarity: float) -> str:
        """Where a similarity lies, after a comma; "" where nothing is known of it."""
        return "" if self.background is None else f", {rank_words(self.background, similarity)}"


def scale_of(opened: Opened, ask: Ask, options: Options, plain: Options) -> Scale:
    """The pairs with which similarities are compared; for a slow model if they are asked for.

    Args:
        options: those of the similarities.
        plain: those of the vectors of the list.
    """
    if not is_quick(opened, options) and not options.flag(SCALED):
        return Scale(None, [Text(ON_DEMAND, "caption")])
    try:
        return Scale(ask(background, background_options(options, plain)).result)
    except BertvizError as error:
        return Scale(None, [Text(f"Similarities have no scale here. {escape_markdown(str(error))}", "caption")])


def _figure(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    plan = sentence_plan(opened, options)
    plain = background_options(options, vector_options(opened, options, plan))
    values = {BACKGROUND.key: options.get(BACKGROUND.key)} if options.get(BACKGROUND.key) == BACKGROUNDS[1] else {}
    answer = ask(background, Options(options.texts, values={**plain.values, **values}))
    computed = Options(options.texts if values else (), values={**plain.values, **values})
    found = answer.result
    yield Text(summary_words(found))
    yield Figure.of(
        background_figure,
        answer,
        f"background {found.pooling} {found.model}",
        below=[Notices([each for each in answer.notices if each != plan.reason], "caption")],
        **explained(EXPLANATION, background, opened, computed),
    )


def closest_parts(opened: Opened, ask: Ask, options: Options, sentences: Sequence[str], scale: Scale) -> Iterator[Part]:
    """The closest pairs, how high the similarity of the first is, and, folded, what they are compared with."""
    if len(sentences) < 2:
        yield Text("One sentence has no pairs: add another to compare it with.", "caption")
        return
    yield Text("**Closest pairs**")
    pairs = ask(closest_pairs, options.only(*closest_pairs.params, task=options.task)).result
    yield from scale.parts
    if scale.background is not None:
        score, word = float(pairs.score[0]), MEASURE_WORDS[pairs.measure]
        both = f"{int(pairs.first[0]) + 1} and {int(pairs.second[0]) + 1}"
        yield Text(f"The closest pair, {both}, has the {word} **{decimals(score)}**{scale.words(score)}.")
    frame = with_ranks(texts.closest_frame(pairs, sentences), pairs.score, scale)
    yield Table(frame, "The closest pairs, the most alike first", SMALL, formats={RANK: "%.2f"})
    if scale.background is not None:
        yield Folded(LABEL, "sentences_background_figure", lambda: [Section((LISTED,), _figure)])


def with_ranks(frame: "pd.DataFrame", scores: np.ndarray, scale: Scale) -> "pd.DataFrame":
    """A table with the percentile ranks of its scores beside them, its first column."""
    if scale.background is not None:
        frame.insert(1, RANK, scale.background.percentile_ranks(scores))
    return frame


def ranked_neighbours(neighbours: Neighbours, frame: "pd.DataFrame", scale: Scale) -> Iterator[Part]:
    """How high the scores of the sentences nearest to a query are: the nearest in a sentence, all as a table."""
    yield from scale.parts
    if scale.background is not None and len(neighbours.score):
        score = float(neighbours.score[0])
        word = MEASURE_WORDS[neighbours.measure]
        yield Text(f"The nearest sentence has the {word} **{decimals(score)}**{scale.words(score)}.")
        alt = "The nearest sentences with their percentile ranks"
        yield Table(with_ranks(frame, neighbours.score, scale), alt, formats={RANK: "%.2f"})


@dataclass(frozen=True, slots=True, eq=False)
class TwoScales:
    """The backgrounds of two models, or why there are none."""

    backgrounds: tuple[Background, Background] | None
    parts: Sequence[Part] = ()
    """What is said of them."""

    def words(self, place: int, cosine: float) -> str:
        """Where a cosine in the first or second model lies, in brackets."""
        return "" if self.backgrounds is None else f" ({rank_words(self.backgrounds[place], cosine)})"


def scales_of_both(
    opened: Opened, ask: Ask, options: Options, shown: Options, compared: SentenceComparison
) -> TwoScales:
    """Each model's own pairs of unrelated texts, by which the heights of its cosines are judged.

    Args:
        options: those of the comparison.
        shown: those of the view.
    """
    if not is_quick(opened, options) and not shown.flag(SCALED):
        return TwoScales(None, [Text(ON_DEMAND, "caption")])
    try:
        both = ask(two_backgrounds, replace(options, texts=())).result
    except BertvizError as error:
        return TwoScales(None, [Text(f"Cosines have no scale here. {escape_markdown(str(error))}", "caption")])
    middles = [float(np.median(off_diagonal(each))) for each in (compared.first_cosines, compared.second_cosines)]
    words = [
        f"{where}, 95 % of pairs of unrelated texts have a cosine below **{decimals(each.percentile(95), 2)}**, and "
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
    table = Table(frame, "Cosines of pairs of unrelated texts in both models", formats={RANK: "%.2f"})
    return TwoScales(both, [Text("**Is that high for these models?**"), Text(f"{words[0]}. {words[1]}."), table])


def both_cosines(compared: SentenceComparison, scales: TwoScales, cell: tuple[int, int] | None) -> Iterator[Part]:
    """The exact cosines of a clicked cell."""
    if cell is None or max(cell) >= len(compared.sentences):
        yield Text("Click a cell for the exact cosines of its two sentences.", "caption")
        return
    values = (float(each[cell]) for each in (compared.first_cosines, compared.second_cosines, compared.difference))
    first, second, difference = (f"**{decimals(value, 7)}**" for value in values)
    if cell[0] != cell[1]:
        first += scales.words(0, float(compared.first_cosines[cell]))
        second += scales.words(1, float(compared.second_cosines[cell]))
    both = " and ".join(texts.quoted_sentence(place, compared.sentences[place]) for place in cell)
    yield Text(f"{both}: {first} in the first model, {second} in the second, difference {difference}")


def cosine_parts(opened: Opened, ask: Ask, cosine: float) -> Iterator[Part]:
    """How high a cosine of two texts is by the model's own recipe; for a slow model when it is opened."""

    def show() -> Iterator[Part]:
        try:
            words = rank_words(ask(background, Options()).result, cosine)
        except BertvizError as error:
            yield Text(f"The cosine has no scale here. {escape_markdown(str(error))}", "caption")
            return
        yield Text(f"The cosine **{decimals(cosine)}** is {words}.")

    if is_quick(opened, Options()):
        yield from show()
    else:
        yield Folded(LABEL, "words_background_figure", show)


LISTED = replace(BACKGROUND, applies=lambda _, options: len(set(options.texts)) >= LEAST_TEXTS)
SMALL = 240
"""Pixels of a table that is scrolled."""


def only_where(shown: Callable[[Options], bool]) -> Param:
    """The control of a slow model, where a view of two models shows their cosines."""
    return replace(SCALED, applies=lambda opened, options: shown(options) and SCALED.applies(opened, options))
