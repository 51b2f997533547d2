"""The result of a list of questions."""

from bertviz_core.api.results.base import Result
from bertviz_core.predictions.results import AnswerList, NullCurve
from bertviz_core.predictions.tables import squad_scores
from bertviz_core.questions.tables.labelled.answer_list import ANSWER_LIST


class AnswerListResult(Result[AnswerList]):
    """Answers to a list of questions, and their scores as SQuAD 2 defines them.

    Table: one row per question: answer, best span with its logit, null score, their difference, gold answers, exact
    match and F1.
    """

    figures = ("null-threshold",)
    _faces = ANSWER_LIST

    @property
    def answers(self) -> tuple[str, ...]:
        """Answer to each question; "" for no answer."""
        return self.data.answers

    @property
    def scores(self) -> dict[str, float | int | None]:
        """Scores by their names in SQuAD 2, such as `HasAns_f1` and `best_exact_thresh`; {} without gold answers."""
        return squad_scores(self.data)

    @property
    def curve(self) -> NullCurve | None:
        """Exact match and F1 by threshold; None without gold answers or null scores."""
        return self.data.curve
