"""How the recipe of vectors from outside is shown."""

from typing import Any

from bertviz_core.figures.sentences.recipes import explanation_words, field_words, matches_frame
from bertviz_core.questions.tables.lines import Faces, fields, table
from bertviz_core.sentences.analysis.results import RecipeMatch, VectorExplanation
from bertviz_core.text import counted, escape_controls

RECIPE = (
    "tokenizer prompt lower_case max_length padding layer pooling include_prompt include_padding dense lengths "
    "dimensions dtype"
)
AGREEMENT = "mean_cosine worst_cosine worst_text differences"


def match_json(match: RecipeMatch | None) -> dict[str, Any] | None:
    """A recipe with its agreement, as one object."""
    return None if match is None else {**fields(match.recipe, RECIPE), **fields(match, AGREEMENT)}


def _lines(made: VectorExplanation) -> list[str]:
    own = made.own
    differing = [] if own is None or not made.matches[0].differences else table(
        [(name, *field_words(name, made.matches[0].recipe, own.recipe)) for name in made.matches[0].differences],
        ("field", "these vectors", "the folder"),
    )  # fmt: skip
    return [
        escape_controls(f"{made.model}: {counted(made.texts, 'vector')} of {counted(made.dimensions, 'dimension')}"),
        escape_controls(explanation_words(made)),
        *(["", *differing] if differing else []),
        "",
        *table(matches_frame(made)[["recipe", "mean cosine", "worst cosine"]], cell=_cell),
    ]


def _cell(value: Any) -> str:
    return escape_controls(value) if isinstance(value, str) else f"{value:.7f}"


EXPLANATION: Faces[VectorExplanation] = Faces(
    keys="model texts dimensions reproduced summary matches equal own from_checkpoint recipes runs notices",
    made={
        "summary": explanation_words,
        "matches": lambda made: [match_json(each) for each in made.matches],
        "equal": lambda made: [match_json(each) for each in made.equal],
        "own": lambda made: match_json(made.own),
    },
    frame=matches_frame,
    lines=_lines,
)
