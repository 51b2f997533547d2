"""What heads that label say of a text, and of its edited version: classes, tags, answers, words at a mask."""

from functools import cached_property

from bertviz_core.cli.figure.inputs.words import WordInputs
from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS, predicted_answers
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.loading import HeadModel, load_head, stored_task
from bertviz_core.predictions.results import (
    STRATEGIES,
    AnswerPrediction,
    ClassPrediction,
    Entity,
    Strategy,
    TagPrediction,
    WordShift,
)
from bertviz_core.predictions.tags import entities, tag_predictions
from bertviz_core.predictions.words import shift_position, word_shift
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import tokenize

LONGEST = 100
"""Most tokens of an answer that can be asked for."""


class LabelInputs(WordInputs):
    """What a classifier, a tagger or a reader of questions says."""

    @cached_property
    def label_head(self) -> HeadModel:
        """The model with the head of --task; by default the one that it was saved with."""
        return load_head(self.source, self.settings, self.asked.task or stored_task(self.source), self.loaded)

    @cached_property
    def edited_tokens(self) -> Tokens:
        """The edited version of the text: --set edited=TEXT, edited_pair=TEXT; what is not given stays."""
        edited, pair = self._edited
        tokens = tokenize(self.tokenizer, edited, pair)
        self.texts = (*self.texts, edited, pair)
        return tokens

    @property
    def _edited(self) -> tuple[str, str | None]:
        more = self.asked.more
        if "edited" not in more and "edited_pair" not in more:
            raise TextError("This figure compares a text with its edited version; give --set edited=TEXT.")
        return more.get("edited", self.asked.text()), more.get("edited_pair", self.asked.pair)

    @cached_property
    def class_prediction(self) -> ClassPrediction:
        """The classes of the text, or whether a pair belongs together."""
        return self._classes(self.tokens)

    @cached_property
    def edited_classes(self) -> ClassPrediction:
        """The same of the edited version."""
        return self._classes(self.edited_tokens)

    def _classes(self, tokens: Tokens) -> ClassPrediction:
        (prediction,) = class_predictions(self.label_head, [tokens])
        self._told(prediction.notices)
        return prediction

    @cached_property
    def class_order(self) -> ClassOrder:
        """Whether the greatest class stands first."""
        return self.asked.setting("order", ORDERS)

    @cached_property
    def tag_prediction(self) -> TagPrediction:
        """The tags of the text."""
        return self._tags(self.tokens)

    @cached_property
    def edited_tags(self) -> TagPrediction:
        """The same of the edited version."""
        return self._tags(self.edited_tokens)

    def _tags(self, tokens: Tokens) -> TagPrediction:
        (prediction,) = tag_predictions(self.label_head, [tokens])
        self._told(prediction.notices)
        return prediction

    @cached_property
    def tag_strategy(self) -> Strategy:
        """How tokens become entities."""
        return self.asked.setting("joined", ("simple", *(each for each in STRATEGIES if each != "simple")))

    @cached_property
    def tag_entities(self) -> tuple[Entity, ...]:
        """The tagged stretches of the text."""
        return entities(self.tag_prediction, self.tokenizer, self.tag_strategy)

    @cached_property
    def edited_entities(self) -> tuple[Entity, ...]:
        """Those of the edited version."""
        return entities(self.edited_tags, self.tokenizer, self.tag_strategy)

    @cached_property
    def longest_answer(self) -> int:
        """Most tokens of an answer."""
        return self.asked.place("longest", LONGEST + 1, MAX_ANSWER_TOKENS) or 1

    @cached_property
    def answer_prediction(self) -> AnswerPrediction:
        """The answers to the question, which is the text, in the context, which is its pair."""
        return self._answers(self.asked.text(), self.asked.pair)

    @cached_property
    def edited_answers(self) -> AnswerPrediction:
        """The same of the edited version."""
        return self._answers(*self._edited)

    def _answers(self, question: str, context: str | None) -> AnswerPrediction:
        prediction = predicted_answers(
            self.label_head, self.tokenizer, question, context or "", max_answer_tokens=self.longest_answer
        )
        self.texts = (*self.texts, prediction.question, prediction.context)
        self._told(prediction.notices)
        return prediction

    @cached_property
    def answer_window(self) -> int:
        """The part of a long context whose spans are mapped, given as a number from 1; the best answer's by default."""
        best, count = self.answer_prediction.answers[0].window, len(self.answer_prediction.windows)
        return max(self.asked.place("window", count + 1, best + 1) - 1, 0)

    @cached_property
    def _guess(self) -> int:
        """The token that is guessed in both versions: --set guess=3; a typed mask, or the longest word that stayed."""
        default = shift_position(self.tokenizer, self.tokens, self.edited_tokens)
        return self.asked.place("guess", len(self.tokens), default)

    @cached_property
    def word_shift(self) -> WordShift:
        """The words at that token in both versions."""
        shift = word_shift(self.word_head, self.tokenizer, self.tokens, self.edited_tokens, self._guess)
        self._told(shift.notices)
        return shift

    @cached_property
    def guessed_token(self) -> str:
        """That token."""
        return self.tokens.tokens[self._guess]
