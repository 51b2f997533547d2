"""Masked words in two models: put the masks of one at the same characters of the other, and compare the words there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.masked_lm import mask_id, read_masked, words_of
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.predictions.run import HeadModel, WordHead
from bertviz_core.predictions.two_models import comparison, numbers_or_nan
from bertviz_core.text import escape_controls, quoted, shortened
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.two_tokenizers import Span, covered, text_of
from bertviz_core.trace.words_in_context import piece_ids

TOP = 10
"""Number of best words of each model."""
QUOTED = 40
Edit = tuple[int, Span, str]
"""Sequence, characters and their replacement."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedPlace:
    """A text with masks as one model reads it, and the position in it that is looked at."""

    tokenizer: TextTokenizer
    tokens: Tokens
    """The text before masking."""
    masked: tuple[int, ...]
    """Positions that are masked besides those masked in the text itself."""
    position: int

    @property
    def typed(self) -> tuple[int, ...]:
        """Positions of masks in the text itself."""
        ids = np.asarray(self.tokens.input_ids)
        return tuple(int(place) for place in np.flatnonzero(ids == mask_id(self.tokenizer)))


def same_place(
    first: MaskedPlace, tokenizer: TextTokenizer, read: Callable[[str, str | None], Tokens]
) -> tuple[MaskedPlace, str]:
    """Put the masks of a text at the same characters for another model.

    Where the other model has exactly one token for the characters of each mask, that token is masked. Otherwise one
    mask of its own takes the place of the characters, however many tokens they are.

    Returns:
        The same for the second model, and a sentence where one mask stands for several tokens; "" otherwise.
    """
    mask_id(tokenizer)
    words = first.tokenizer.mask_word, tokenizer.mask_word
    tokens = first.tokens
    if words[0] == words[1]:
        second = read(tokens.text, tokens.pair)
        if second.tokens == tokens.tokens:
            return MaskedPlace(tokenizer, second, first.masked, first.position), ""
    places = sorted({*first.typed, *first.masked})
    spans = {place: _span(tokens, place) for place in (*places, first.position)}
    edits = [(*spans[place], words[1]) for place in first.typed]
    second = read(*_edited(tokens, edits))
    partners = [_partner(second, *_moved(spans[place], edits)) for place in first.masked]
    notice = ""
    if None in partners:
        edits = [(*spans[place], words[1]) for place in places]
        second = read(*_edited(tokens, edits))
        merged = [place for place, partner in zip(first.masked, partners, strict=True) if partner is None]
        name = tokenizer.name
        notice = f"{_named(tokens, merged[0])} is no single token of {name}; one mask of its own takes its place there."
        partners = []
    found = MaskedPlace(tokenizer, second, tuple(place for place in partners if place is not None), 0)
    masks = sorted({*found.typed, *found.masked})
    if len(masks) != len(places):
        raise TextError(f"{tokenizer.name!r} reads another number of masks in this text; choose other masks.")
    if first.position in places:
        position: int | None = masks[places.index(first.position)]
    else:
        position = _partner(second, *_moved(spans[first.position], edits))
    if position is None:
        raise TextError(
            f"{_named(tokens, first.position)} is no single token of {tokenizer.name!r}, so the words there are not "
            "compared; mask it, or choose another position."
        )
    return MaskedPlace(tokenizer, second, found.masked, position), notice


def compared_words(
    heads: tuple[HeadModel, HeadModel], sides: tuple[MaskedPlace, MaskedPlace], notice: str = "", top: int = TOP
) -> PredictionComparison:
    """The best words of two models at the same characters, each with its probability in both.

    Words are matched by their row where the vocabularies are equal, otherwise by their spelling at this place; a word
    that is no single token of the other model has no probability there.
    """
    logs, best = zip(*(_words_at(*each, top) for each in zip(heads, sides, strict=True)), strict=True)
    matched = _Matched(sides)
    rows = dict.fromkeys(matched.pairs(best))
    numbers = [
        numbers_or_nan([None if (word := ids[side]) is None else np.exp(logs[side][word]) for ids in rows])
        for side in (0, 1)
    ]
    absent = [each.tokenizer.name for side, each in enumerate(sides) if np.isnan(numbers[side]).any()]
    about = [f"A word without a number is no single token of {' or of '.join(absent)}."] if absent else []
    answers = tuple(matched.spelled(side, best[side][0]) for side in (0, 1))
    first, second = heads
    return comparison(
        "words",
        (first.name, second.name),
        list(map(matched.name, rows)),
        numbers,
        (answers[0], answers[1]),
        [*([notice] if notice else []), *about, *first.notices, *second.notices],
        where=place_text(sides[0]),
    )


def best_words(sides: tuple[MaskedPlace, MaskedPlace], ids: tuple[Sequence[int], Sequence[int]]) -> tuple[
    tuple[str, ...], tuple[str, ...]
]:  # fmt: skip
    """Words of two models, spelled alike where both mean the same characters."""
    matched = _Matched(sides)
    first, second = (tuple(matched.spelled(side, each) for each in ids[side]) for side in (0, 1))
    return first, second


def place_text(place: MaskedPlace) -> str:
    """The characters at the position, or the token's spelling."""
    span = covered(place.tokens, place.position)
    sequence = place.tokens.sequence[place.position]
    text = "" if span is None or sequence is None else text_of(place.tokens, sequence)[slice(*span)]
    return shortened(escape_controls(text or place.tokens.tokens[place.position]), QUOTED)


class _Matched:
    """Ids of two vocabularies that mean the same word at the same place."""

    def __init__(self, sides: tuple[MaskedPlace, MaskedPlace]) -> None:
        self.sides = sides
        every = [each.tokenizer.spelled(range(len(each.tokenizer.tokenizer))) for each in sides]
        self.same = every[0] == every[1]

    def pairs(self, best: Sequence[Sequence[int]]) -> Iterable[tuple[int | None, int | None]]:
        """The original token, where it is known, and the best words of both as pairs of ids; None for no such token."""
        sides = [[int(token_id) for token_id in ids] for ids in best]
        known = [
            int(side.tokens.input_ids[side.position]) if side.position not in side.typed else None
            for side in self.sides
        ]
        for token_id in sides[0]:
            yield token_id, self._partner(0, token_id)
        for token_id in sides[1]:
            yield self._partner(1, token_id), token_id
        if known[0] is not None:
            yield known[0], known[1] if known[1] is not None else self._partner(0, known[0])

    def name(self, ids: tuple[int | None, int | None]) -> str:
        """The word of a pair of ids, as the first model spells it where it has it."""
        side = 0 if ids[0] is not None else 1
        token_id = ids[side]
        return "" if token_id is None else self.spelled(side, token_id)

    def spelled(self, side: int, token_id: int) -> str:
        """A word: as in the vocabulary where both have one vocabulary, otherwise as it is written."""
        tokenizer = self.sides[side].tokenizer
        spelling = tokenizer.spelled([token_id])[0]
        if self.same:
            return spelling
        return str(tokenizer.tokenizer.convert_tokens_to_string([spelling])).strip() or spelling

    def _partner(self, side: int, token_id: int) -> int | None:
        """Id of the same word in the other vocabulary, if it is one token there."""
        if self.same:
            return token_id
        there = self.sides[1 - side]
        try:
            ids = piece_ids(there.tokenizer, there.tokens, there.position, self.spelled(side, token_id))
        except TextError:
            return None
        unknown = there.tokenizer.tokenizer.unk_token_id
        return ids[0] if len(ids) == 1 and ids[0] != unknown else None


def _words_at(
    head: HeadModel, side: MaskedPlace, top: int
) -> tuple[Float[np.ndarray, " vocab"], tuple[int, ...]]:  # fmt: skip
    """Log-probability of every word at the position, and the ids of the best words."""
    reading = read_masked(head, side.tokenizer, side.tokens, side.masked)
    best = words_of(head, reading, top, (side.position,)).top_ids[side.position]
    word_head = WordHead(head)
    states = word_head.states(reading.output)[0]
    logits = word_head.logits(reading.output, states[torch.as_tensor([side.position], device=states.device)])
    return logits.log_softmax(dim=-1)[0].float().cpu().numpy(), tuple(int(each) for each in best)


def _span(tokens: Tokens, position: int) -> tuple[int, Span]:
    span, sequence = covered(tokens, position), tokens.sequence[position]
    if span is None or sequence is None or span[0] == span[1]:
        raise TextError(
            f"{_named(tokens, position)} covers no characters of the text, by which the tokens of two models meet; "
            "choose another position."
        )
    return sequence, span


def _named(tokens: Tokens, position: int) -> str:
    return f"Token {position} ({quoted(escape_controls(tokens.tokens[position]), QUOTED)})"


def _edited(tokens: Tokens, edits: Sequence[Edit]) -> tuple[str, str | None]:
    """The text and its pair with characters replaced."""
    texts = [tokens.text, tokens.pair]
    for sequence, (start, end), new in sorted(edits, reverse=True):
        old = texts[sequence] or ""
        texts[sequence] = f"{old[:start]}{new}{old[end:]}"
    return texts[0] or "", texts[1]


def _moved(place: tuple[int, Span], edits: Sequence[Edit]) -> tuple[int, Span]:
    """Characters of the text as characters of the edited text."""
    sequence, (start, end) = place
    shift = sum(len(new) - (last - first) for of, (first, last), new in edits if of == sequence and last <= start)
    return sequence, (start + shift, end + shift)


def _partner(tokens: Tokens, sequence: int, span: Span) -> int | None:
    """The only token that covers some of these characters, if it covers exactly them."""
    touching = [
        place
        for place in range(len(tokens))
        if tokens.sequence[place] == sequence
        and (own := covered(tokens, place)) is not None
        and own[0] < span[1]
        and span[0] < own[1]
    ]
    return touching[0] if len(touching) == 1 and covered(tokens, touching[0]) == span else None
