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
from bertviz_core.predictions.probing.results import AnswerComparison, SlicedAnswers
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
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
from bertviz_core.questions.tables.lines import Columns, printable_token, table
from bertviz_core.questions.tables.predictions import (
    COMPARED_ANSWERS,
    INTERACTION,
    RANKING,
    SLICES,
    prediction_frame,
    prediction_json,
    prediction_lines,
)
from bertviz_core.questions.tables.texts import SIMILARITY
from bertviz_core.questions.tables.two_models.sentences import DIMENSIONS
from bertviz_core.questions.tables.vectors import EXPLANATION
from bertviz_core.questions.texts.background import background
from bertviz_core.questions.texts.dimensions import fewer_dimensions
from bertviz_core.questions.texts.sentences import encoded_sentences
from bertviz_core.sentences.background import percentile_matrix
from bertviz_core.sentences.results import Background, DimensionCurve, Neighbours, SentenceVectors, VectorExplanation
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
    def agreement(self) -> float:
        """Share of the texts with the same answer of both models, 0 to 1."""
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
    first accuracy, second accuracy, difference and the ends low and high of its 95 % interval.
    """

    figures: tuple[str, ...] = ("slices-compared",)
    _faces = SLICES


class RankingResult(Result[Ranking]):
    """Texts scored for a query by a head that reads both together, or by late interaction, beside cosines.

    Table: one row per text by descending score and the columns rank, score, logit (of a head), by cosine (the rank),
    rise (ranks gained), cosine, number (place in the list, from 1), text.
    """

    figures = ("ranking",)
    _faces = RANKING

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Score of each text, in the order of the list."""
        return self.data.scores

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


class SentencesResult(Result[SentenceVectors]):
    """Embeddings of a list of sentences, and the cosine similarities of all pairs.

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
        """Cosine similarity of every pair, -1 to 1."""
        return similarity_matrix(self.data.vectors)

    @cached_property
    def percentile_ranks(self) -> Float[np.ndarray, "sentences sentences"]:
        """Percentile rank of every cosine among pairs of unrelated texts in this model, 0 to 100; NaN on the diagonal.

        The rank is the share of these pairs with a lower cosine: whether a cosine is high depends on the model.
        """
        compared_with = background(self._source.model, replace(self._source.options, texts=())).result
        return percentile_matrix(self.data, compared_with)

    @checked
    def nearest(self, query: str, k: int = 5) -> NearestResult:
        """Find the sentences with the largest cosine similarity to a query.

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
        answer = encoded_sentences(model, current, (text,))
        options = replace(current, texts=self.data.sentences, values={**current.values, "query_sentence": text})
        neighbours = nearest(answer.result.vectors[0], self.data.vectors, k)
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
