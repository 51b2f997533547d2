"""What texts use of a vocabulary: its rows by script and by frequency, and the pieces of their words."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.text import counted, quoted, repair_surrogates
from bertviz_core.trace.pieces import byte_characters
from bertviz_core.trace.results import SIGNS, UNKNOWN, ScriptUse, VocabularyTable, VocabularyUse
from bertviz_core.trace.tokenization import PADDING_ROW, TextTokenizer, check_characters, check_ids, special_and_unknown

DIGITS, MIXED = "digits", "several scripts"
SPECIAL, RESERVED, BYTES, PADDING = "special", "reserved", "bytes", "padding rows"
NO_SCRIPT = (DIGITS, SIGNS, MIXED, BYTES, UNKNOWN, SPECIAL, RESERVED, PADDING)
"""Kinds of rows without a script, as tables list them, behind the scripts."""
LETTERS = ("Lu", "Ll", "Lt", "Lo")
"""Categories of letters; modifier letters are not among them."""
NAMED_OTHERWISE = {
    **{"CJK": "Han", "HENTAIGANA": "Hiragana", "CANADIAN": "Canadian Aboriginal"},
    **dict.fromkeys(("TURNED", "ROMAN"), "Latin"),
}
"""Beginnings of names of letters that are not the name of their script."""
RESERVED_NAMES = ("unused", "reserved", "extra_id_", "madeupword")
"""How spellings of rows begin that were left free when the vocabulary was made, after brackets and bars."""
BATCH_TEXTS, BATCH_CHARACTERS = 512, 200_000
PROBE = "р"
"""A letter of two bytes, the second of which has another character in each alphabet of bytes."""
MOST_LISTED = 50
"""Most words and texts that are listed."""


@lru_cache(2**16)
def script(character: str) -> str:
    """The script of a letter, or whether it is a digit or sign; "" for marks and modifiers, which go with any letter.

    The name of a letter in Unicode begins with its script; compatibility forms are those of the letter they stand for.
    """
    category = unicodedata.category(character)
    if category[0] == "N":
        return DIGITS
    if category not in LETTERS:
        return "" if category[0] in "LM" else SIGNS
    plain = (each for each in unicodedata.normalize("NFKC", character) if unicodedata.category(each) in LETTERS)
    first = unicodedata.name(next(plain, character), "OTHER").split()[0]
    return NAMED_OTHERWISE.get(first, first.title())


def script_of(text: str) -> str:
    """The script of the letters of a text, or several; without letters whether there are digits."""
    scripts = {script(character) for character in text} - {"", SIGNS}
    letters = scripts - {DIGITS}
    return MIXED if len(letters) > 1 else next(iter(letters or scripts), SIGNS)


def row_kinds(tokenizer: TextTokenizer, rows: int) -> tuple[str, ...]:
    """The script of each row of the vocabulary, or what else it is."""
    special, unknown = special_and_unknown(tokenizer.tokenizer)
    kinds = dict.fromkeys(special, SPECIAL) | {unknown: UNKNOWN}
    byte_of = _byte_alphabet(tokenizer)
    spelled = tokenizer.spelled(range(rows))
    return tuple(kinds.get(row) or _kind(spelling, byte_of) for row, spelling in enumerate(spelled))


def _byte_alphabet(tokenizer: TextTokenizer) -> dict[str, int]:
    """The byte that each character of a spelling stands for; empty where spellings are characters of the text."""
    backend, alphabets = tokenizer.tokenizer, (byte_characters(), list(map(chr, range(256))))
    for alphabet in alphabets:
        try:
            joined = backend.convert_tokens_to_string([alphabet[byte] for byte in PROBE.encode()])
        except Exception:  # noqa: S112  # a tokenizer written in Python may not know these tokens
            continue
        if joined.strip() == PROBE:
            return {character: byte for byte, character in enumerate(alphabet)}
    return {}


def _kind(spelling: str, byte_of: dict[str, int]) -> str:
    if spelling.startswith(f"{PADDING_ROW} "):
        return PADDING
    if spelling.lstrip("[<|").startswith(RESERVED_NAMES) and spelling[0] in "[<":
        return RESERVED
    if len(spelling) == 6 and spelling.startswith("<0x") and spelling.endswith(">"):
        return BYTES
    spelling = spelling.removesuffix("</w>")
    if byte_of and all(character in byte_of for character in spelling):
        try:
            spelling = bytes(byte_of[character] for character in spelling).decode()
        except UnicodeDecodeError:
            return BYTES
    return script_of(spelling)


class _Counts:
    """What is counted of texts while they come."""

    def __init__(self, tokenizer: TextTokenizer, kinds: Sequence[str]) -> None:
        special, self.unknown = special_and_unknown(tokenizer.tokenizer)
        self.special = frozenset(special)
        self.rare = {self.unknown, *(row for row, kind in enumerate(kinds) if kind == BYTES)}
        self.of_rows: Counter[int] = Counter()
        self.of_words: dict[str, list[int]] = {}
        self.split: dict[str, tuple[int, ...]] = {}
        self.texts: list[tuple[int, int]] = []
        self.script = lru_cache(2**17)(script_of)

    def add(self, place: int, text: str, ids: Sequence[int], encoding: Any) -> None:
        self.of_rows.update(ids)
        is_rare = not self.rare.isdisjoint(ids)
        if is_rare and (unknown := ids.count(self.unknown)):
            self.texts.append((unknown, place))
        for word, start, end in () if encoding is None else text_words(text, encoding):
            own = ids[start:end]
            if start + 1 == end and own[0] in self.special:
                continue
            kind = self.script(word)
            row = self.of_words.setdefault(kind, [0, 0, 0, 0])
            row[0] += bool(word)  # white space alone is a piece and no word
            row[1] += end - start
            if is_rare:
                unknown = own.count(self.unknown)
                row[2] += unknown
                row[3] += sum(each in self.rare for each in own) - unknown
            if end - start > 1 and kind != SIGNS:
                self.split[word] = tuple(own)

    def cut(self) -> None:
        """Keep what is listed alone."""
        self.split = dict(nlargest(MOST_LISTED, self.split.items(), key=lambda each: len(each[1])))
        self.texts = nlargest(MOST_LISTED, self.texts, key=lambda each: (each[0], -each[1]))


def text_words(text: str, encoding: Any) -> Iterator[tuple[str, int, int]]:
    """The words of a text with the places of their first token and of the one behind the last.

    A word is a run of tokens with the same word id; white space ends one, as some tokenizers say that a whole text is
    one word.
    """
    last, begin, first, before, at = None, 0, 0, 0, 0
    for at, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
        between = text[before : start + 1]
        if word != last or (between and between.split() != [between]):
            if last is not None:
                yield text[first:before].strip(), begin, at
            last, begin, first = word, at, start
        before = end
    if last is not None:
        yield text[first:before].strip(), begin, at + 1


def vocabulary_use(
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    kinds: Sequence[str],
    tables: Sequence[VocabularyTable] = (),
    progress: Progress = no_progress,
) -> VocabularyUse:
    """Count the rows of the vocabulary and the pieces of words in texts, which are read whole.

    Args:
        kinds: as `row_kinds` returns them, one for each row of the table.
        tables: the tables of the model with one row per token.
    """
    if not texts:
        raise TextError("There are no texts whose tokens could be counted; give at least one.")
    counts, backend = _Counts(tokenizer, kinds), tokenizer.tokenizer
    for start, batch in _batches(tokenizer, texts):
        try:
            with tokenizer.lock:
                encoded = backend(batch, truncation=False, verbose=False, return_offsets_mapping=backend.is_fast)
        except Exception as error:  # a text may lead to any exception
            raise TextError(f"The tokenizer of {quoted(tokenizer.name)} cannot read these texts: {error}") from error
        rows, encodings = encoded["input_ids"], encoded.encodings or [None] * len(batch)
        for place, (text, ids, encoding) in enumerate(zip(batch, rows, encodings, strict=True), start=start):
            if not backend.is_fast:
                check_ids(tokenizer.name, ids)
            counts.add(place, text, ids, encoding)
        counts.cut()
        progress(start + len(batch), len(texts))
    return _counted(tokenizer, texts, kinds, tables, counts)


def _batches(tokenizer: TextTokenizer, texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Texts that are tokenized at once, with the place of the first."""
    start, batch, characters = 0, list[str](), 0
    for place, text in enumerate(map(repair_surrogates, texts)):
        check_characters(tokenizer, len(text))
        if batch and (len(batch) == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS):
            yield start, batch
            start, batch, characters = place, [], 0
        batch.append(text)
        characters += len(text)
    yield start, batch


def _counted(
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    kinds: Sequence[str],
    tables: Sequence[VocabularyTable],
    counts: _Counts,
) -> VocabularyUse:
    own = {row: count for row, count in counts.of_rows.items() if row not in counts.special}
    if not own:
        raise TextError("No text has a token of its own, so nothing of the vocabulary is used; give texts with words.")
    ids = sorted(own, key=lambda row: (-own[row], row))
    rows, used, tokens = Counter(kinds), Counter[str](), Counter[str]()
    for row, count in counts.of_rows.items():
        if row < len(kinds):
            used[kinds[row]] += 1
            tokens[kinds[row]] += count
    words = counts.of_words
    scripts = sorted({*rows, *words} - {*NO_SCRIPT}, key=lambda kind: (-rows[kind], kind))
    order = [*scripts, *(kind for kind in NO_SCRIPT if kind in rows or kind in words)]
    return VocabularyUse(
        model=tokenizer.name,
        texts=len(texts),
        special_tokens=counts.of_rows.total() - sum(own.values()),
        ids=np.array(ids, dtype=np.int64),
        counts=np.array([own[row] for row in ids], dtype=np.int64),
        spelled=tokenizer.spelled(ids),
        by_script=tuple(
            ScriptUse(kind, rows[kind], used[kind], tokens[kind], *words.get(kind, (0, 0, 0, 0))) for kind in order
        ),
        split_words=tuple((word, tokenizer.spelled(pieces)) for word, pieces in counts.split.items()),
        unknown_texts=tuple((unknown, place, texts[place]) for unknown, place in counts.texts),
        tables=tuple(tables),
        notices=tuple(_notices(tokenizer, len(kinds), sum(own[row] for row in ids if row >= len(kinds)))),
    )


def _notices(tokenizer: TextTokenizer, rows: int, beyond: int) -> Iterator[str]:
    name, known = quoted(tokenizer.name), len(tokenizer.tokenizer)
    if beyond or known > rows:
        yield (
            f"The tokenizer of {name} has {known:,} tokens and the table {rows:,} rows, so they do not belong "
            f"together; {counted(beyond, 'token')} of the texts {'has' if beyond == 1 else 'have'} no row."
        )
    if not tokenizer.tokenizer.is_fast:
        yield f"The tokenizer of {name} is written in Python and names no words, so pieces are not counted by word."
