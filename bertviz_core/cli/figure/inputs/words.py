"""What a task head answers: words at masks, surprise, the lens through the layers, expanded terms."""

from functools import cached_property

import numpy as np

from bertviz_core.cli.figure.inputs.runs import RunInputs
from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.lens import MEASURES, TOLD
from bertviz_core.predictions.lens import word_lens
from bertviz_core.predictions.loading import HeadModel, load_head
from bertviz_core.predictions.results import (
    ComparedWord,
    PseudoLikelihood,
    TermLedger,
    TermWeights,
    WordLens,
    WordPrediction,
)
from bertviz_core.predictions.surprise import pseudo_likelihood
from bertviz_core.predictions.terms import term_ledger, term_weights
from bertviz_core.predictions.words import compared_word, mask_id, predicted_words
from bertviz_core.text import escape_controls
from bertviz_core.trace.tokenization import longest_piece, tokenize

TOP, MOST_TERMS, FIRST_TERMS = 10, 50, 12
"""Words at a position; most terms that are drawn, and how many by default."""


class WordInputs(RunInputs):
    """What a masked-LM head answers."""

    @cached_property
    def word_head(self) -> HeadModel:
        """The model with its masked-LM head."""
        return load_head(self.source, self.settings, "masked-lm", self.loaded)

    def _told(self, notices: tuple[str, ...]) -> None:
        self.notices = tuple(dict.fromkeys((*self.notices, *notices)))

    @cached_property
    def _typed(self) -> list[int]:
        """Positions at which the text itself has a mask."""
        return np.flatnonzero(self.tokens.input_ids == mask_id(self.tokenizer)).tolist()

    @cached_property
    def masked_positions(self) -> list[int]:
        """Positions to mask: --set mask=2,5 or none; the longest word where neither that nor the text has one."""
        given, count = self.asked.more.get("mask"), len(self.tokens)
        if given is None:
            return [] if self._typed else [longest_piece(self.tokens)]
        places = given.split(",") if given != "none" else []
        if not all(place in map(str, range(count)) for place in places):
            raise TextError(
                f"There is no mask={escape_controls(given[:20])} here; give positions from 0 to {count - 1} with "
                "commas between them, or none."
            )
        return sorted({int(place) for place in places} - set(self._typed))

    @cached_property
    def word_position(self) -> int:
        """The position whose words are listed: the first mask by default."""
        default = (*self._typed, *self.masked_positions, longest_piece(self.tokens))[0]
        return self.asked.place("position", len(self.tokens), default)

    @cached_property
    def word_prediction(self) -> WordPrediction:
        """The best words at every position."""
        prediction = predicted_words(self.word_head, self.tokenizer, self.tokens, self.masked_positions, TOP)
        self._told(prediction.notices)
        return prediction

    @cached_property
    def best_words(self) -> tuple[str, ...]:
        """Spelling of those at the position."""
        return self.tokenizer.spelled(self.word_prediction.top_ids[self.word_position].tolist())

    @cached_property
    def compared_word(self) -> ComparedWord | None:
        """A word of one's own at the position: --set compare=WORD."""
        word = self.asked.more.get("compare", "").strip()
        if not word:
            return None
        others = [place for place in self.masked_positions if place != self.word_position]
        return compared_word(self.word_head, self.tokenizer, self.tokens, self.word_position, word, others)

    @cached_property
    def pseudo_likelihood(self) -> PseudoLikelihood:
        """Surprise of every token."""
        result = pseudo_likelihood(self.word_head, self.tokenizer, self.tokens)
        self._told(result.notices)
        return result

    @cached_property
    def word_lens(self) -> WordLens:
        """The head on every layer's states."""
        lens = word_lens(self.word_head, self.tokenizer, self.tokens, self.masked_positions, TOP)
        self._told(lens.notices)
        return lens

    @cached_property
    def lens_words(self) -> list[list[tuple[str, ...]]]:
        """Spelling of the best words of every cell."""
        return [[self.tokenizer.spelled(cell) for cell in row] for row in self.word_lens.top_ids[..., :TOLD].tolist()]

    @cached_property
    def lens_measure(self) -> str:
        """What the cells are coloured by."""
        return self.asked.setting("lens", MEASURES)

    @cached_property
    def term_weights(self) -> TermWeights:
        """The text as weighted words."""
        weights = term_weights(self.word_head, tokenize(self.tokenizer, self.asked.text()))
        self.texts = (weights.tokens.text,)
        self._told(weights.notices)
        return weights

    @cached_property
    def second_weights(self) -> TermWeights:
        """The second text as weighted words."""
        first = self.term_weights
        if self.asked.pair is None:
            raise TextError("This figure compares two texts, and one came; give the second with --pair.")
        weights = term_weights(self.word_head, tokenize(self.tokenizer, self.asked.pair))
        self.texts = (first.tokens.text, weights.tokens.text)
        return weights

    @cached_property
    def term_ledger(self) -> TermLedger:
        """The score of the two, word by word."""
        return term_ledger(self.term_weights, self.second_weights)

    def _shown(self, count: int) -> int:
        """How many terms are drawn."""
        most = min(count, MOST_TERMS)
        if most == 0:
            raise TextError("No term of the vocabulary has a weight here, so nothing can be drawn; give other texts.")
        return self.asked.place("shown", most + 1, min(FIRST_TERMS, most)) or 1

    @cached_property
    def term_words(self) -> tuple[str, ...]:
        """Spelling of the heaviest words."""
        ids = self.term_weights.ids
        return self.tokenizer.spelled(ids[: self._shown(len(ids))].tolist())

    @cached_property
    def ledger_words(self) -> tuple[str, ...]:
        """Spelling of the words that give most to the score."""
        ids = self.term_ledger.ids
        return self.tokenizer.spelled(ids[: self._shown(len(ids))].tolist())
