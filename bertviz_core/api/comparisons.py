"""Methods that compare a model with a second one."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import TypeVar, overload

from bertviz_core.api.arguments import Texts, answered_texts, checked
from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.figures import ModelFigures
from bertviz_core.api.results.answers import AnswerComparisonResult
from bertviz_core.api.results.predictions import PredictionComparisonResult
from bertviz_core.errors import TextError
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import compared_answers, compared_options
from bertviz_core.questions.predictions.two_models import VIEW, VIEWS, compared_predictions
from bertviz_core.questions.question import Question

T = TypeVar("T")
U = TypeVar("U")


class ModelComparisons(ModelFigures):
    """The comparisons of a model."""

    @overload
    def compare(
        self,
        other: str | PathLike[str],
        texts: Sequence[str],
        gold: Sequence[str] | None = ...,
        pair: str | Texts | None = ...,
        task: str | None = ...,
    ) -> AnswerComparisonResult: ...

    @overload
    def compare(
        self,
        other: str | PathLike[str],
        *,
        text: str,
        pair: str | None = ...,
        task: str | None = ...,
        view: str = ...,
    ) -> PredictionComparisonResult: ...

    @checked
    def compare(
        self,
        other: str | PathLike[str],
        texts: Sequence[str] | None = None,
        gold: Sequence[str] | None = None,
        pair: str | Texts | None = None,
        task: str | None = None,
        *,
        text: str | None = None,
        view: str = VIEWS[0],
    ) -> AnswerComparisonResult | PredictionComparisonResult:
        """Compare the predictions of two models: for one text, or the answers of two classifiers to many texts.

        Args:
            other: name or folder of the second model.
            texts: texts that two classifiers answer, at least one.
            gold: the right label of each of them, "" for none.
            pair: a second text; for many texts one for all, or one for each.
            task: task of both heads; defaults to that of the model, or to those that the checkpoints were saved with.
            text: one text, in place of texts, for heads of any task; for question answering the question.
            view: what masked-LM heads are asked for: "words", "surprise" or "lens".

        Raises:
            BertvizError: a model has no head of the task, or the numbers of texts and labels differ.
        """
        if (text is None) == (texts is None):
            raise TextError("Give either texts, a list that two classifiers answer, or text, one text for any heads.")
        if texts is not None:
            options = compared_options(fspath(other), *answered_texts(texts, gold, pair), task or self.task)
            return self._ask(compared_answers, AnswerComparisonResult, options)
        if gold is not None or not (pair is None or isinstance(pair, str)):
            raise TextError("gold and a list of second texts go with texts; one text has one pair and no gold labels.")
        values = {OTHER.key: fspath(other), VIEW.key: view}
        one = Options((text or "",), pair, task or self.task, values)
        return self._ask(compared_predictions, PredictionComparisonResult, one)

    def _ask(self, question: Question[Opened, T], result: Callable[[T, FigureSource], U], options: Options) -> U:
        opened = self._opened
        return result(question(opened, options).result, FigureSource(opened, options))
