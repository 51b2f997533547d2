"""What a model makes of a text: its run, hidden states, input, pooler, one word in two texts, a row's neighbours."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bertviz_core.cli.figure.inputs.models import ModelInputs
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.figures.hidden_states.heatmaps import BEFORE, CHANGE, INPUT, LENGTH
from bertviz_core.figures.hidden_states.lines import embedding_lengths
from bertviz_core.figures.tokens.rows import BELOW, Below
from bertviz_core.hidden_states.embeddings import embedding_sum, nearest_rows, pooler_check
from bertviz_core.hidden_states.geometry import (
    change_by_layer,
    compare_word,
    cosine_to_embedding,
    cosine_to_previous,
    first_tokens,
    norms,
    token_cosines,
    token_paths,
)
from bertviz_core.hidden_states.results import NearestRows, PoolerCheck, TokenPaths, WordComparison
from bertviz_core.hidden_states.words import occurrences
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import TextPieces, Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.subwords.made_tokenizers import MADE, made_tokenizer
from bertviz_core.trace.subwords.pieces import text_pieces
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, longest_piece, tokenize

SHOWN_TOKENS, MOST_PATHS = 64, 16
"""Tokens that the page draws of a long text, until its reader asks for others."""
WINDOW, NARROW = 64, 32
MEASURES = {"length": LENGTH, "change": CHANGE, "before": BEFORE, "input": INPUT}
NEAREST = 10


class RunInputs(ModelInputs):
    """A model's weights, and what it computes from a text."""

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return load_model(self.source, self.settings)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        return load_tokenizer(self.source, self.settings)

    @cached_property
    def tokens(self) -> Tokens:
        """The one text as the model reads it."""
        read = self._read_by(self.asked.model)
        self.texts, self.notices = (read.text, read.pair), read.notices
        return read

    @cached_property
    def text_pieces(self) -> TextPieces:
        """The text cut into its tokens."""
        return text_pieces(self.tokens)

    @cached_property
    def below(self) -> Below:
        """What stands below each token."""
        return self.asked.setting("below", BELOW)

    @cached_property
    def second_name(self) -> str:
        """The second tokenizer: one that is made here, or that of another model."""
        return self.asked.more.get("tokenizer", "") or next(iter(MADE))

    @cached_property
    def second_pieces(self) -> TextPieces:
        """The same text cut by the second tokenizer."""
        name = self.second_name
        if name in MADE:
            tokenizer = made_tokenizer(name, self.settings)
            return text_pieces(tokenize(tokenizer, self.asked.text(), self.asked.pair))
        return text_pieces(self._read_by(name))

    @cached_property
    def trace(self) -> Trace:
        """What the model makes of it."""
        read = self.tokens
        held = trace(self.loaded, read)
        self.notices = (*read.notices, *held.notices)
        return held

    @cached_property
    def state(self) -> int:
        """An entry of the hidden states, the last by default."""
        last = self.trace.num_hidden_layers
        return self.asked.number("layer", self.asked.layer, last + 1, last, " (the embedding output)")

    @cached_property
    def first_dimension(self) -> int:
        """The first dimension drawn."""
        first, width = self.asked.first, self.trace.hidden_states.shape[-1]
        if first >= width:
            raise TextError(f"There is no dimension {first} in {self.asked.model!r}; give --first 0 to {width - 1}.")
        return first

    @cached_property
    def window(self) -> int:
        """How many dimensions are drawn."""
        width: int = self.trace.hidden_states.shape[-1]
        window = self.asked.window or next((size for size in (WINDOW, NARROW) if size < width), width)
        return min(window, width - self.first_dimension)

    @cached_property
    def measure(self) -> str:
        """What one number per token and layer is, as its figure calls it."""
        given = self.asked.measure
        if given not in MEASURES:
            raise TextError(f"There is no --map {escape_controls(given[:20])!r}; choose {', '.join(MEASURES)}.")
        return MEASURES[given]

    @cached_property
    def token_measures(self) -> Float[np.ndarray, "rows seq"]:
        """One number per token and layer."""
        compute = {
            LENGTH: norms,
            CHANGE: change_by_layer,
            BEFORE: cosine_to_previous,
            INPUT: cosine_to_embedding,
        }[self.measure]
        return compute(self.trace.hidden_states)

    def _span(self, shown: int) -> tuple[int, int]:
        return self.asked.span("tokens", len(self.trace.tokens), shown)

    @cached_property
    def first_token(self) -> int:
        """The first token drawn."""
        return self._span(SHOWN_TOKENS)[0]

    @cached_property
    def token_cosines(self) -> Float[np.ndarray, "states seq seq"]:
        """Every token drawn against every other, at every entry."""
        return token_cosines(self.trace.hidden_states[:, slice(*self._span(SHOWN_TOKENS))])

    @cached_property
    def input_lengths(self) -> Mapping[str, Float[np.ndarray, " seq"]]:
        """Lengths of the vectors that make the input of the tokens drawn."""
        parts = embedding_sum(self.loaded, self.trace)
        self.notices += tuple(each for each in (parts.inexact, parts.note) if each)
        return embedding_lengths(parts, slice(*self._span(SHOWN_TOKENS)))

    @cached_property
    def picked_tokens(self) -> list[int]:
        """Positions of the tokens whose paths are drawn: --set picked=1.4.5, or the page's own."""
        given, count = self.asked.more.get("picked"), len(self.trace.tokens)
        if given is None:
            return first_tokens(self.trace.tokens)
        places = given.split(".")
        if not all(place in map(str, range(count)) for place in places) or len(set(places)) > MOST_PATHS:
            raise TextError(
                f"There is no picked={escape_controls(given[:20])} here; give up to {MOST_PATHS} positions from 0 to "
                f"{count - 1} with dots between them."
            )
        return sorted({int(place) for place in places})

    @cached_property
    def token_paths(self) -> TokenPaths:
        """Their ways through the layers."""
        return token_paths(self.trace.hidden_states[:, self.picked_tokens])

    @cached_property
    def pooler_check(self) -> PoolerCheck:
        """The first token's vector, and what the pooler makes of it."""
        check = pooler_check(self.loaded, self.trace) if self.trace.pooler_output is not None else None
        if check is None:
            raise UnsupportedModelError(
                f"{self.asked.model!r} has no pooler of Linear and tanh on its first token; draw hidden instead."
            )
        return check

    @cached_property
    def word(self) -> str:
        """The word that is followed through two texts."""
        word = self.asked.more.get("word", "").strip()
        if len(self.asked.texts) != 2 or not word:
            raise TextError("This figure follows a word in two texts: give --set word=WORD, and both texts in quotes.")
        return word

    @cached_property
    def word_comparison(self) -> WordComparison:
        """One word in two texts, layer by layer."""
        word = self.word
        first, second = (trace(self.loaded, tokenize(self.tokenizer, text)) for text in self.asked.texts)
        places = [occurrences(each.tokens, word) for each in (first, second)]
        for text, found in zip(self.asked.texts, places, strict=True):
            if not found:
                what = f"The word {escape_controls(word[:30])!r} was not found in {escape_controls(text[:60])!r}"
                raise TextError(f"{what}; give a word that is in both texts.")
        self.texts = self.asked.texts
        return compare_word(word, first, places[0][0], second, places[1][0])

    @cached_property
    def position(self) -> int:
        """The token that is looked at, and whose row is looked up."""
        return self.asked.place("token", len(self.tokens), longest_piece(self.tokens))

    @cached_property
    def token(self) -> str:
        """That token."""
        return self.tokens.tokens[self.position]

    @cached_property
    def nearest_rows(self) -> NearestRows:
        """The rows of the embedding table that are nearest to its row."""
        return nearest_rows(self.loaded, int(self.tokens.input_ids[self.position]), NEAREST)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """The tokens of these rows."""
        return self.tokenizer.spelled(self.nearest_rows.ids.tolist())
