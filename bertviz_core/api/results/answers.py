"""Results of heads and of sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.own_model import checked
from bertviz_core.api.results.base import Result
from bertviz_core.errors import TextError
from bertviz_core.figures.sentences.prompts import moved_documents_frame, moved_pairs_frame
from bertviz_core.predictions.probing.results import (
    AnswerComparison,
    CalibratedLabel,
    Calibration,
    CalibrationScores,
    LabelErrors,
    SlicedAnswers,
)
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    HeadScores,
    LateInteraction,
    LogitLens,
    PseudoLikelihood,
    Ranking,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.predictions.run import HeadModel
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.predictions.predict import Prediction
from bertviz_core.questions.predictions.two_models import answers_by_slice, compared_options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.background import BACKGROUND
from bertviz_core.questions.tables.bits import BITS
from bertviz_core.questions.tables.canaries import CANARY, CHECK
from bertviz_core.questions.tables.chunks import CHUNKS
from bertviz_core.questions.tables.labelled.calibration import CALIBRATION
from bertviz_core.questions.tables.labelled.label_errors import LABEL_ERRORS
from bertviz_core.questions.tables.lines import Columns, printable_token, table
from bertviz_core.questions.tables.predictions import (
    COMPARED_ANSWERS,
    INTERACTION,
    RANKING,
    SLICES,
    THREE_HEADS,
    prediction_frame,
    prediction_json,
    prediction_lines,
)
from bertviz_core.questions.tables.prompts import COMPARED_PROMPTS, RANKED_PROMPTS
from bertviz_core.questions.tables.texts import SIMILARITY
from bertviz_core.questions.tables.thresholds import THRESHOLDS
from bertviz_core.questions.tables.two_models.sentences import DIMENSIONS
from bertviz_core.questions.tables.vectors import EXPLANATION
from bertviz_core.questions.texts.background import background
from bertviz_core.questions.texts.bits import fewer_bits
from bertviz_core.questions.texts.dimensions import fewer_dimensions
from bertviz_core.questions.texts.sentences import check_width, encoded_sentences, query_model
from bertviz_core.sentences.analysis.background import percentile_matrix
from bertviz_core.sentences.analysis.canary.results import Canary, CanaryCheck
from bertviz_core.sentences.analysis.results import (
    Background,
    BitsComparison,
    ChunkVectors,
    LateChunks,
    PairThresholds,
    PositionShares,
    PromptComparison,
    PromptRanking,
    Threshold,
    VectorExplanation,
)
from bertviz_core.sentences.results import DimensionCurve, Neighbours, SentenceVectors
from bertviz_core.sentences.similarity import nearest, similarity_matrix
from bertviz_core.text import repair_surrogates

FIGURES: Mapping[type, tuple[str, ...]] = {
    WordPrediction: ("masked-words", "masked-text"),
    PseudoLikelihood: ("surprise",),
    LogitLens: ("lens",),
    TermWeights: ("terms",),
    TermLedger: ("term-score",),
    ClassPrediction: ("classes",),
    TagPrediction: ("tags",),
    AnswerPrediction: ("answers", "answer-map"),
}
"""Figures of each kind of prediction."""


class PredictionResult(Result[Prediction]):
    """Prediction of a task head for a text; the type of `data` depends on the task."""

    def __init__(self, answer: Answer[Prediction], head: HeadModel, source: FigureSource) -> None:
        super().__init__(answer.result, source)
        self.figures = ("next-sentence",) if head.task == "next-sentence" else FIGURES[type(answer.result)]
        self._answer = answer
        self._about = {"model": source.model.name, "task": head.task, "model_class": head.model_class}

    def _own_notices(self) -> Sequence[str]:
        return self._answer.notices

    @property
    def task(self) -> str:
        """Task of the head, such as "sequence-classification"."""
        return self._about["task"]

    @property
    def probabilities(self) -> dict[str, float]:
        """Label -> probability of a classifier; empty for other tasks, and for scores that are not probabilities."""
        if not isinstance(self.data, ClassPrediction) or self.data.probabilities is None:
            return {}
        return dict(zip(self.data.labels, self.data.probabilities.tolist(), strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """One row per class, entity, answer, term, or position with its best word; columns as in the JSON."""
        return prediction_frame(self._answer)

    def _json(self) -> dict[str, Any]:
        return {**self._about, **prediction_json(self._answer)}

    def _lines(self) -> Sequence[str]:
        return prediction_lines(self._about, [self._answer])


class AnswerComparisonResult(Result[AnswerComparison]):
    """Answers of two classifiers to the same texts, with the scores of both if there are gold labels.

    Table: one row per text and the columns text, second text, gold label, first, second, kind, first probability,
    second probability.
    """

    figures: tuple[str, ...] = ("answers-compared", "scores-compared")
    _faces = COMPARED_ANSWERS

    def __init__(self, data: AnswerComparison, source: FigureSource) -> None:
        super().__init__(data, source)
        self.figures = self.figures if data.gold is not None else self.figures[:1]

    @property
    def agreement(self) -> float | None:
        """Share of the texts with the same answer of both models, 0 to 1; None for heads without a common label."""
        return self.data.agreement

    @checked
    def by(self, slices: str, values: Sequence[str] | None = None) -> "SlicedAnswersResult":
        """Compare the models on parts of the texts.

        Args:
            slices: "length" for the number of words, "word:" with a word that texts contain or not, such as
                "word:not", or "column".
            values: the value of each text, for "column".

        Raises:
            TextError: there is no such division, or the number of values is not that of the texts.
        """
        stored, data = self._source.options, self.data
        gold = None if data.gold is None else data.gold.first.gold
        options = compared_options(stored.get(OTHER.key), data.texts, gold, data.pairs, stored.task, slices, values)
        answer = answers_by_slice(self._source.model, options)
        return SlicedAnswersResult(answer.result, FigureSource(self._source.opened, options, answer.notices))


class SlicedAnswersResult(Result[SlicedAnswers]):
    """Answers of two classifiers by parts of the texts.

    Table: one row per slice and the columns slice, texts, same answer; with gold labels also compared, mended, broken,
    first accuracy, second accuracy, difference and the ends low and high of its 95% interval.
    """

    figures: tuple[str, ...] = ("slices-compared",)
    _faces = SLICES


class RankingResult(Result[Ranking]):
    """Texts scored for a query by a head that reads both together, or by late interaction, beside cosines.

    Table: one row per text by descending score and the columns rank, score, logit (of a head), of a reranker that
    answers yes or no logit of yes and logit of no, by cosine (the rank), rise (ranks gained), cosine, number (place in
    the list, from 1), text.
    """

    figures = ("ranking",)
    _faces = RANKING

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Score of each text, in the order of the list."""
        return self.data.scores

    @property
    def logits(self) -> Float[np.ndarray, " texts"]:
        """Logit of each score, in the order of the list; the score itself for late interaction."""
        return self.data.logits

    @property
    def equal_scores(self) -> dict[str, int] | None:
        """Number format -> number of scores that equal another one in it although their logits differ.

        The formats are float32, float16, bfloat16, and "printed", with 4 decimals; None for late interaction.
        """
        return self.data.equal_scores

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending score."""
        return self.data.order


class LateInteractionResult(Result[LateInteraction]):
    """The cosine of every token of a query with every token of a document, and the sum of the largest.

    Table: one row per token of the query and the columns token, largest (its largest cosine), document token (the token
    that has it), place (of that token, from 0), expanded (whether the token only fills the query up).
    """

    figures = ("late-interaction",)
    _faces = INTERACTION

    @property
    def score(self) -> float:
        """Sum of the largest cosines; their mean if the checkpoint says so."""
        return self.data.score

    @property
    def cosines(self) -> Float[np.ndarray, "query_tokens document_tokens"]:
        """Cosine of every two tokens."""
        return self.data.cosines

    @property
    def largest(self) -> Float[np.ndarray, " query_tokens"]:
        """Largest cosine of each token of the query, its part of the sum."""
        return self.data.largest


class ThreeHeadsResult(Result[HeadScores]):
    """Texts scored for a query by the three heads of BGE-M3, and the weighted mean of the scores.

    Table: one row per text by descending mean and the columns rank, score (the mean), dense, sparse, multi-vector, by
    dense, by sparse, by multi-vector (the ranks of each head alone), number (place in the list, from 1), text.
    """

    figures = ("three-heads",)
    _faces = THREE_HEADS

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Weighted mean of the three scores of each text, in the order of the list."""
        return self.data.scores

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending mean."""
        return self.data.order


class NearestResult(Result[Neighbours]):
    """The sentences nearest to a query, in descending order of their similarity."""

    figures = ("query",)

    def __init__(self, data: Neighbours, source: FigureSource, query: str) -> None:
        super().__init__(data, source)
        self.query = query
        """The query."""

    def to_pandas(self) -> pd.DataFrame:
        """One row per sentence: its index in the list, its text, and its cosine similarity to the query."""
        frame = pd.DataFrame(self._json()["hits"]).set_index("row")
        return frame.rename(columns={"text": "sentence", "score": "cosine"})

    def _json(self) -> dict[str, Any]:
        hits = [
            {"row": row, "text": self._source.options.texts[row], "score": score}
            for row, score in zip(self.data.index.tolist(), self.data.score.tolist(), strict=True)
        ]
        return {"model": self._source.model.name, "query": self.query, "hits": hits}

    def _lines(self) -> Sequence[str]:
        columns: Columns = {"row": ("row", str), "cosine": ("score", ".4f"), "sentence": "text"}
        first = f"{self._source.model.name}: sentences nearest to {printable_token(self.query)!r}"
        return [first, "", *table(self._json()["hits"], columns, "rrl")]


class VectorExplanationResult(Result[VectorExplanation]):
    """The recipe that makes vectors from another program; `to_pandas()` has a row per recipe, the nearest first."""

    figures = ("vector-recipes",)
    _faces = EXPLANATION


class CanaryResult(Result[Canary]):
    """Tokens and vectors of some texts, which were written to a file, with what made them.

    Table: one row per text: text, number of tokens, first tokens, first numbers of its vector.
    """

    figures = ()
    _faces = CANARY


class CanaryCheckResult(Result[CanaryCheck]):
    """What has changed of a model since its canary was written; `passed` is whether tokens and vectors are the same.

    Table: one row per text: change of its vector as a share of its length, largest change of a number, cosine, nearest
    text before and now, whether these are equally near, position of the first token that differs.
    """

    figures = ()
    _faces = CHECK

    @property
    def passed(self) -> bool:
        """Whether no token changed, and no vector by more than the tolerance."""
        return self.data.passed


class ChunksResult(Result[LateChunks]):
    """The chunks of a long text, each embedded alone and late, and the share of each position in its vector.

    Table: one row per chunk: the cosine of its two vectors, their cosines with the query, the ranks, the text.
    """

    figures = ("late-chunks", "position-shares")
    _faces = CHUNKS

    @property
    def chunks(self) -> ChunkVectors:
        """Texts, token ranges and both vectors of the chunks."""
        return self.data.chunks

    @property
    def shares(self) -> PositionShares:
        """The share of each position in the vector of the text."""
        return self.data.shares


class PromptsResult(Result[PromptComparison]):
    """The cosines of a list without a prompt, with prompts, and swapped; `to_pandas()` has a row per arrangement."""

    figures = ("prompts",)
    _faces = COMPARED_PROMPTS

    @checked
    def moved(self) -> pd.DataFrame:
        """All pairs with cosine and rank without prompts and with them, what moved most first."""
        return moved_pairs_frame(self.data)


class PromptRanksResult(Result[PromptRanking]):
    """Ranks of relevant documents without a prompt, with prompts, and swapped; a row per arrangement in the table."""

    figures = ("prompt-ranks",)
    _faces = RANKED_PROMPTS

    @checked
    def moved(self) -> pd.DataFrame:
        """All relevant documents with their ranks without prompts and with them, what moved most first."""
        return moved_documents_frame(self.data)


class CalibrationResult(Result[Calibration]):
    """How well the probabilities of a classifier, and of a second one, agree with labelled texts.

    Table: the scores of each model and label, on all texts, on the half that the temperature is not fitted on, and
    there with the logits divided by it.
    """

    figures = ("calibration", "coverage")
    _faces = CALIBRATION

    @property
    def scores(self) -> CalibrationScores:
        """Accuracy, ECE, Brier score and log loss on all texts; means over the labels of a multi-label head."""
        return self.data.scores

    @property
    def labels(self) -> tuple[CalibratedLabel, ...]:
        """Bins, coverage and temperature: of the answer, or of each label of a multi-label head."""
        return self.data.labels

    @property
    def temperature(self) -> float | None:
        """The fitted temperature of the answer; None if there is none, and for a multi-label head."""
        return self.data.labels[0].temperature if len(self.data.labels) == 1 else None

    @property
    def other(self) -> Calibration | None:
        """The same of the second model; None without one."""
        return self.data.other


class ThresholdsResult(Result[PairThresholds]):
    """Precision, recall and F1 of labelled pairs for every threshold of their scores.

    Table: one row per threshold, ascending: threshold, precision and recall with the ends of their 95% intervals, F1,
    and the numbers of true and false positives and negatives.
    """

    figures = ("thresholds",)
    _faces = THRESHOLDS

    @property
    def best(self) -> Threshold:
        """The threshold with the largest F1."""
        return self.data.best

    @property
    def reaching(self) -> Threshold | None:
        """The lowest threshold that reaches the chosen precision; None if there is none."""
        return self.data.reaching

    @property
    def scores(self) -> Float[np.ndarray, " pairs"]:
        """Score of each pair."""
        return self.data.scores


class LabelErrorsResult(Result[LabelErrors]):
    """Texts whose labels are likely wrong, the least likely right first.

    Table: one row per suspect: row, text, given and suggested label, an empty decision, and their probabilities.
    """

    figures = ("label-errors",)
    _faces = LABEL_ERRORS

    @property
    def suspects(self) -> Int[np.ndarray, " suspects"]:
        """Indices of the suspects among the checked texts; `result.data.rows` has their places in the list, from 1."""
        return self.data.suspects

    @property
    def estimated(self) -> int:
        """Estimated number of wrong labels."""
        return self.data.estimated


class BackgroundResult(Result[Background]):
    """How alike unrelated texts, or the texts of a list, are to a model: by it the height of a cosine is judged.

    Table: the cosine below which some shares of the pairs lie.
    """

    figures = ("background",)
    _faces = BACKGROUND

    @property
    def similarities(self) -> Float[np.ndarray, " pairs"]:
        """Cosines of all pairs of different texts, ascending."""
        return self.data.similarities

    @checked
    def percentile_rank(self, similarity: float) -> float:
        """Compute the share of the pairs with a lower cosine, 0 to 100; of equal ones half is counted.

        Args:
            similarity: a cosine of two texts in this model.
        """
        return self.data.percentile_rank(similarity)


class DimensionsResult(Result[DimensionCurve]):
    """What the vectors of a list of sentences keep when they are cut to their first dimensions.

    Table: one row per number of dimensions: neighbours kept, Spearman, bytes per vector, whether trained for it.
    """

    figures = ("dimensions",)
    _faces = DIMENSIONS


class BitsResult(Result[BitsComparison]):
    """What the vectors of a list of sentences keep in fewer bits and dimensions, on queries or on the list itself.

    Table: one row per format and number of dimensions: bytes, recall, Spearman, changed nearest texts.
    """

    figures = ("bits",)
    _faces = BITS


class SentencesResult(Result[SentenceVectors]):
    """Embeddings of a list of sentences, and the similarities of all pairs.

    Table: the similarities, with one row and one column per sentence.
    """

    figures = ("sentences", "map", "blocks", "vectors", "poolings", "pooling-maps", "pair", "background")
    _faces = SIMILARITY

    @property
    def vectors(self) -> Float[np.ndarray, "sentences dimensions"]:
        """Vectors of the sentences, in the order of the list."""
        return self.data.vectors

    @cached_property
    def similarity(self) -> Float[np.ndarray, "sentences sentences"]:
        """Cosine similarity of every pair, -1 to 1; of a sparse encoder the dot product, or what its folder names."""
        return similarity_matrix(self.data.vectors, self.data.measure)

    @cached_property
    def percentile_ranks(self) -> Float[np.ndarray, "sentences sentences"]:
        """Percentile rank of every cosine among pairs of unrelated texts in this model, 0 to 100; NaN on the diagonal.

        The rank is the share of these pairs with a lower cosine: whether a cosine is high depends on the model.
        """
        compared_with = background(self._source.model, replace(self._source.options, texts=())).result
        return percentile_matrix(self.data, compared_with)

    @checked
    def nearest(self, query: str, k: int = 5) -> NearestResult:
        """Find the sentences with the largest similarity to a query.

        Args:
            query: the query.
            k: number of sentences to return, at least 1.

        Raises:
            BertvizError: the query is blank or invalid, or `k` is less than 1.
        """
        text = repair_surrogates(query).strip()
        if not text or k < 1:
            raise TextError("The query is blank, or k is below 1; give a text to look for, and k from 1.")
        current, model = self._source.options, self._source.model
        answer = encoded_sentences(query_model(model), current, (text,))
        check_width(model, answer.result.vectors[0], self.data.vectors.shape[1])
        options = replace(current, texts=self.data.sentences, values={**current.values, "query_sentence": text})
        neighbours = nearest(answer.result.vectors[0], self.data.vectors, k, self.data.measure)
        return NearestResult(neighbours, FigureSource(model, options, answer.notices), text)

    @checked
    def dimensions(self, dimensions: Sequence[int] | None = None) -> DimensionsResult:
        """Measure what vectors of fewer dimensions keep: nearest sentences, and the order of all cosines.

        Args:
            dimensions: numbers of dimensions, 1 to those of the vectors; defaults to powers of two from 8, those that
                the model names as trained (Matryoshka), and all.

        Raises:
            BertvizError: there are fewer than 3 sentences, or a number is out of range.
        """
        if dimensions is not None and (not dimensions or min(dimensions) < 1):
            raise TextError("dimensions needs at least one number, from 1; None stands for powers of two.")
        current, model = self._source.options, self._source.model
        written = {} if dimensions is None else {"dimensions": ",".join(map(str, dimensions))}
        options = replace(current, values={**current.values, **written})
        answer = fewer_dimensions(model, options)
        return DimensionsResult(answer.result, FigureSource(model, options, answer.notices))

    @checked
    def bits(
        self,
        queries: Sequence[str] = (),
        k: int | None = None,
        *,
        oversampling: int | None = None,
        calibration: int | None = None,
        dimensions: Sequence[int] | None = None,
        query_prompt: str | None = None,
    ) -> BitsResult:
        """Measure what vectors as float16, int8, uint8 and signs keep: nearest sentences, and the order of all scores.

        Args:
            queries: queries; defaults to each sentence as one, for all others.
            k: number of nearest sentences to compare; defaults to 10, or half of a short list.
            oversampling: how many times `k` candidates are compared again where there is rescoring; defaults to 2.
            calibration: number of sentences, evenly spaced, whose vectors set the ranges of int8 and uint8; defaults
                to all.
            dimensions: numbers of dimensions; defaults to those that the model names as trained and all, or to all,
                half and a quarter.
            query_prompt: name of the prompt in front of the queries; defaults to that of the sentences.

        Raises:
            BertvizError: there are fewer than 3 sentences, or a number is out of range.
        """
        if dimensions is not None and (not dimensions or min(dimensions) < 1):
            raise TextError("dimensions needs at least one number, from 1; None stands for the usual ones.")
        current, model = self._source.options, self._source.model
        numbers = {"nearest": k, "oversampling": oversampling, "calibration": calibration}
        written = {key: str(number) for key, number in numbers.items() if number is not None}
        written |= {} if dimensions is None else {"dimensions": ",".join(map(str, dimensions))}
        written |= {} if query_prompt is None else {"query_prompt": query_prompt}
        written |= {"query_lines": "\n".join(" ".join(each.split()) for each in queries)} if queries else {}
        options = replace(current, values={**current.values, **written})
        answer = fewer_bits(model, options)
        return BitsResult(answer.result, FigureSource(model, options, answer.notices))
