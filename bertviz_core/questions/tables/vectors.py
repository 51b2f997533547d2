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


def _lines(found: VectorExplanation) -> list[str]:
    own = found.own
    differing = [] if own is None or not found.matches[0].differences else table(
        [(name, *field_words(name, found.matches[0].recipe, own.recipe)) for name in found.matches[0].differences],
        ("field", "these vectors", "the folder"),
    )  # fmt: skip
    return [
        escape_controls(f"{found.model}: {counted(found.texts, 'vector')} of {counted(found.dimensions, 'dimension')}"),
        escape_controls(explanation_words(found)),
        *(["", *differing] if differing else []),
        "",
        *table(matches_frame(found)[["recipe", "mean cosine", "worst cosine"]], cell=_cell),
    ]


def _cell(value: Any) -> str:
    return escape_controls(value) if isinstance(value, str) else f"{value:.7f}"


EXPLANATION: Faces[VectorExplanation] = Faces(
    keys="model texts dimensions reproduced summary matches equal own from_checkpoint recipes runs notices",
    made={
        "summary": explanation_words,
        "matches": lambda found: [match_json(each) for each in found.matches],
        "equal": lambda found: [match_json(each) for each in found.equal],
        "own": lambda found: match_json(found.own),
    },
    frame=matches_frame,
    lines=_lines,
)
