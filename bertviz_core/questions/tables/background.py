"""How the background of similarities is shown, and similarities with their percentile ranks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.background import background_frame, summary_words
from bertviz_core.hidden_states.results import entry_name
from bertviz_core.questions.tables.lines import Faces, cell_text, fields, table
from bertviz_core.questions.tables.texts import SIMILARITY
from bertviz_core.questions.tables.two_models.sentences import COMPARED_SENTENCES
from bertviz_core.sentences.analysis.background import percentile_matrix
from bertviz_core.sentences.analysis.results import Background
from bertviz_core.sentences.results import SentenceComparison, SentenceVectors
from bertviz_core.text import counted, escape_controls

MAX_PAIRS = 30
"""Most pairs in a terminal."""


def summary_json(background: Background) -> dict[str, Any]:
    """What the pairs of a background are, where they lie, and how many texts they are of."""
    ranges = {f"percentile_{each}": background.percentile(each) for each in (5, 95, 99)}
    return {
        **fields(background, "of measure"),
        "texts": len(background.texts),
        **fields(background, "pairs mean standard_deviation"),
        **ranges,
    }


def _title(background: Background) -> str:
    recipe = f"{background.pooling} of {entry_name(background.layer)}"
    return escape_controls(f"{background.model}: {MEASURE_WORDS[background.measure]} of sentence vectors ({recipe})")


BACKGROUND: Faces[Background] = Faces(
    keys="model revision pooling layer prompt query_prompt background texts similarities notices",
    made={"background": summary_json},
    frame=lambda background: background_frame(background, None),
    above=lambda background: [_title(background), summary_words(background)],
    columns=lambda background: {
        "percentile": ("percentile", "g"),
        **{name: name for name in background_frame(background, None).columns[1:]},
    },
)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Similarities of sentences with the background of the model."""

    vectors: SentenceVectors
    background: Background


def _scaled_json(scaled: Scaled) -> dict[str, Any]:
    plain = SIMILARITY.to_json(scaled.vectors)
    ranks = percentile_matrix(scaled.vectors, scaled.background)
    return {**plain, "percentile_ranks": ranks, "background": summary_json(scaled.background)}


def _scaled_lines(scaled: Scaled) -> list[str]:
    ranks = percentile_matrix(scaled.vectors, scaled.background)
    return [*SIMILARITY.to_lines(scaled.vectors), "", summary_words(scaled.background), *_pair_lines(ranks)]


def _pair_lines(*sides: np.ndarray) -> list[str]:
    """The pairs with their percentile ranks, the most alike of the last side first."""
    first, second = np.triu_indices(len(sides[0]), 1)
    order = np.argsort(-sides[-1][first, second], kind="stable")[:MAX_PAIRS]
    names = ("percentile rank",) if len(sides) == 1 else ("rank in first", "rank in second")
    rows = [
        (f"{first[at]} and {second[at]}", *(f"{side[first[at], second[at]]:.2f}" for side in sides))
        for at in order.tolist()
    ]
    more = len(first) - len(rows)
    return [
        *(["", *table(rows, ("pair", *names), "l" + "r" * len(sides))] if rows else []),
        *([f"... and {counted(more, 'pair')} of lower rank; --json prints all"] if more > 0 else []),
    ]


SCALED: Faces[Scaled] = Faces(keys=_scaled_json, lines=_scaled_lines)


@dataclass(frozen=True, slots=True, eq=False)
class ScaledComparison:
    """The same sentences in two models, each with its background."""

    compared: SentenceComparison
    backgrounds: tuple[Background, Background]

    @property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Percentile ranks of the cosines in both models; NaN on the diagonals."""
        cosines = (self.compared.first_cosines, self.compared.second_cosines)
        made = [each.percentile_ranks(side) for each, side in zip(self.backgrounds, cosines, strict=True)]
        for ranks in made:
            np.fill_diagonal(ranks, np.nan)
        return made[0], made[1]


def _compared_json(scaled: ScaledComparison) -> dict[str, Any]:
    first, second = scaled.ranks
    return {
        **COMPARED_SENTENCES.to_json(scaled.compared),
        "first_percentile_ranks": first,
        "second_percentile_ranks": second,
        "first_background": summary_json(scaled.backgrounds[0]),
        "second_background": summary_json(scaled.backgrounds[1]),
    }


def _compared_lines(scaled: ScaledComparison) -> list[str]:
    lines = [f"{escape_controls(cell_text(each.model))}: {summary_words(each)}" for each in scaled.backgrounds]
    return [*COMPARED_SENTENCES.to_lines(scaled.compared), "", *lines, *_pair_lines(*scaled.ranks)]


SCALED_COMPARISON: Faces[ScaledComparison] = Faces(keys=_compared_json, lines=_compared_lines)
