"""Methods that compare a model with a second one."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import TypeVar, overload

from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.figures import ModelFigures
from bertviz_core.api.own_model import Texts, answered_texts, checked
from bertviz_core.api.results.answers import AnswerComparisonResult, CalibrationResult
from bertviz_core.api.results.runs import VocabularyResult
from bertviz_core.api.results.two_models import (
    AttentionComparisonResult,
    ChangedHeadsResult,
    NumberFormatsResult,
    PredictionComparisonResult,
    StateComparisonResult,
)
from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.calibration import BINS
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, joined_names
from bertviz_core.questions.predictions.calibration import BINS_COUNT, calibration, calibration_options
from bertviz_core.questions.predictions.label_errors import PROBABILITIES_FROM
from bertviz_core.questions.predictions.labelled_texts import CLASS_NAMES, SEED
from bertviz_core.questions.predictions.predict import JOINED, JOINS
from bertviz_core.questions.predictions.two_models import (
    VIEW,
    VIEWS,
    compared_answers,
    compared_options,
    compared_predictions,
)
from bertviz_core.questions.question import Question
from bertviz_core.questions.texts.attention import WORDS
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER
from bertviz_core.questions.texts.number_formats import formats_options, number_formats
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.questions.texts.tokens import vocabulary
from bertviz_core.questions.texts.two_models import (
    OTHER_HEAD,
    OTHER_LAYER,
    changed_heads,
    compared_attention,
    cosines_of_states,
)

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
        join: str = ...,
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
        join: str = JOINS[0],
    ) -> AnswerComparisonResult | PredictionComparisonResult:
        """Compare the predictions of two models: for one text, or the answers of two classifiers to many texts.

        Args:
            other: name or folder of the second model.
            texts: texts that two classifiers answer, at least one.
            gold: the right label of each of them, "" for none.
            pair: a second text; for many texts one for all, or one for each.
            task: task of both heads; defaults to that of the model, or to those that the checkpoints were saved with.
            text: one text, in place of texts, for heads of any task; for question answering the question.
            view: what to compare for masked-LM heads: "words", "surprise" or "lens"; "entities" of heads that tag.
            join: aggregation strategy of entities: "simple", "none", "first", "average" or "max".

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
        values = {OTHER.key: fspath(other), VIEW.key: view, JOINED.key: join}
        one = Options((text or "",), pair, task or self.task, values)
        return self._ask(compared_predictions, PredictionComparisonResult, one)

    @checked
    def calibration(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        *,
        pair: str | Texts | None = None,
        other: str | PathLike[str] | None = None,
        bins: int = BINS,
        probabilities_from: str = "head",
        pooling: str | None = None,
        layer: int | None = None,
        seed: int = 0,
        class_names: Sequence[str] = (),
    ) -> CalibrationResult:
        """Measure whether what a classifier is so sure of is true that often, and what a temperature changes.

        Args:
            texts: at least 4; of more than 10,000 a sample is answered.
            labels: the right label of each, "" for none; of a multi-label head all of them, such as "joy, fear".
            pair: a second text; one for all, or one for each.
            other: name or folder of a second model, which is measured on the same texts.
            bins: number of bins of the reliability diagram, 2 to 50.
            probabilities_from: "head" for the model's own head, "probe" for probes fitted without the text.
            pooling: of probes, pooling of the vectors; defaults to that of the checkpoint.
            layer: of probes, entry of the hidden states that is pooled; defaults to the last.
            seed: of probes, seed of the division into folds.
            class_names: names for the classes of a head that only numbers them, in its order; defaults to its own.

        Raises:
            BertvizError: a head has no classes, or the texts have no labels of its head, or all the same.
        """
        rows = answered_texts(texts, labels, pair)
        values = {OTHER.key: "" if other is None else fspath(other), BINS_COUNT.key: str(bins)}
        values |= {PROBABILITIES_FROM.key: probabilities_from, SEED.key: str(seed)}
        values |= {POOLING.key: pooling or "", STATE.key: "" if layer is None else str(layer)}
        values[CLASS_NAMES.key] = joined_names(class_names)
        options = calibration_options(rows[0], rows[1] or [], rows[2], self.task, **values)
        return self._ask(calibration, CalibrationResult, options)

    @checked
    def compare_attention(
        self,
        other: str | PathLike[str],
        text: str,
        pair: str | None = None,
        *,
        layer: int = 0,
        head: int = 0,
        other_layer: int | None = None,
        other_head: int | None = None,
        words: bool = False,
    ) -> AttentionComparisonResult:
        """Compare the attention of one head [tokens, tokens] with that of a head of a second model.

        Args:
            other: name or folder of the second model.
            text: a text, which each model reads with its own tokenizer.
            pair: a second text of the same input.
            layer: index of the layer, zero-based.
            head: index of the head, zero-based.
            other_layer: layer of the second model; by default the same, or that at the same relative depth where it
                has another number of layers.
            other_head: head of the second model, likewise.
            words: whether to merge pieces to words, which two tokenizers more often have in common.

        Raises:
            BertvizError: the attention of a model is not known, or there is no such layer or head.
        """
        numbers = {LAYER.key: layer, HEAD.key: head, OTHER_LAYER.key: other_layer, OTHER_HEAD.key: other_head}
        values = {key: str(number) for key, number in numbers.items() if number is not None}
        values |= {OTHER.key: fspath(other), WORDS.key: str(words).lower()}
        return self._ask(compared_attention, AttentionComparisonResult, Options((text,), pair, values=values))

    @checked
    def changed_heads(self, other: str | PathLike[str], text: str, pair: str | None = None) -> ChangedHeadsResult:
        """Measure how far the attention of every head [layers, heads] is from that of the same head of another model.

        Args:
            other: name or folder of the second model.
            text: a text that both models read as the same tokens.
            pair: a second text of the same input.

        Raises:
            BertvizError: the models read other tokens, have other numbers of layers or heads, or no known attention.
        """
        options = Options((text,), pair, values={OTHER.key: fspath(other)})
        return self._ask(changed_heads, ChangedHeadsResult, options)

    @checked
    def compare_states(self, other: str | PathLike[str], text: str, pair: str | None = None) -> StateComparisonResult:
        """Measure the cosine of every token's hidden states [layers + 1, tokens] in two models.

        Args:
            other: name or folder of the second model.
            text: a text that both models read as the same tokens.
            pair: a second text of the same input.

        Raises:
            BertvizError: the models read other tokens, or their vectors have other sizes.
        """
        options = Options((text,), pair, values={OTHER.key: fspath(other)})
        return self._ask(cosines_of_states, StateComparisonResult, options)

    @checked
    def number_formats(
        self, texts: Sequence[str] | None = None, formats: Sequence[str] | None = None, *, examples: bool = False
    ) -> NumberFormatsResult:
        """Measure what the model loses and saves when its weights are rounded to fewer bits.

        The error and the bytes of every part are read from the file. With texts, a copy in memory is run in each
        format, one after another, beside the model, which stays as it is.

        Args:
            texts: texts whose vectors, nearest neighbours, and answers of a head that classifies are compared before
                and after rounding; None or an empty list for the weights alone.
            formats: of "float8_e4m3fn", "bfloat16", "float16", "int8", "int8 per channel", "int4 groups of 32",
                "int4 groups of 64", "int4 groups of 128" and "nf4"; defaults to six of them.
            examples: whether to run the example set, where no texts are given.

        Raises:
            BertvizError: there is no such format, the weights are not on this machine, or a text cannot be run.
        """
        if formats is not None and not formats:
            raise TextError("formats is an empty list; give at least one number format.")
        options = formats_options(tuple(texts or ()), formats, examples)
        return self._ask(number_formats, NumberFormatsResult, options)

    @checked
    def vocabulary(self, texts: Sequence[str]) -> VocabularyResult:
        """Count which rows of the vocabulary texts use, by script and by frequency, and the pieces of their words.

        Args:
            texts: texts, at least one, which are tokenized whole.

        Raises:
            BertvizError: there is no tokenizer, there are no texts, or none has a token of its own.
        """
        return self._ask(vocabulary, VocabularyResult, Options(tuple(texts)))

    def _ask(self, question: Question[Opened, T], result: Callable[[T, FigureSource], U], options: Options) -> U:
        answer = question(self._opened, options)
        return result(answer.result, FigureSource(self._opened, options, answer.notices))
