"""How the answers to a list of questions are shown."""

from typing import Any

from bertviz_core.figures.predictions.answer_list import answer_frame, best_words, null_frame, squad_words
from bertviz_core.predictions.results import AnswerList
from bertviz_core.predictions.tables import squad_scores
from bertviz_core.questions.tables.lines import Faces, records
from bertviz_core.text import escape_controls

MOST = 20
"""Most questions that are printed."""
NOT_PRINTED = ["gold answers", "start", "context"]


def _answers(result: AnswerList) -> list[dict[str, Any]]:
    rows = records(answer_frame(result).drop(columns=["context"]))
    return rows if result.gold is None else [{**row, "gold_answers": result.gold[at]} for at, row in enumerate(rows)]


ANSWER_LIST: Faces[AnswerList] = Faces(
    keys="model threshold scores curve answers notices",
    made={
        "scores": squad_scores,
        "curve": lambda result: [] if result.curve is None else records(null_frame(result)),
        "answers": _answers,
    },
    frame=answer_frame,
    above=lambda result: [escape_controls(each) for each in (squad_words(result), best_words(result)) if each],
    rows=lambda result: answer_frame(result).drop(columns=NOT_PRINTED, errors="ignore"),
    most=MOST,
    rest="questions; --json and -o FILE have all",
)
