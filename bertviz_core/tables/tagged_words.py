"""Read sentences whose words have tags: CoNLL lines, JSON records of words and tags, and texts with spans."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import msgspec

from bertviz_core.errors import TextError
from bertviz_core.tables.decoding import decoded
from bertviz_core.tables.parquet import ENDINGS
from bertviz_core.tables.text_tables import JSON, objects
from bertviz_core.text import LFS_NBYTES, counted, pointer_message, quoted, repair_surrogates

WORDS, TAGS = ("tokens", "words"), ("ner_tags", "tags", "labels", "ner", "pos_tags")
TEXT, SPANS = ("text", "sentence"), ("entities", "spans", "label", "labels")
"""Names of the fields of a record, the usual one first."""
COMMENT = re.compile(r"#\s*(\S+\s*=|id\s)")
"""A line of a CoNLL file that is about the next sentence, such as `# sent_id = 3`."""
Span = tuple[int, int]


class TaggedWords(msgspec.Struct, frozen=True):
    """Sentences as words with a tag each."""

    words: list[list[str]]
    tags: list[list[str]]
    """Names of labels, or their numbers in the head."""
    notices: list[str]


class TagRequest(msgspec.Struct, frozen=True):
    """A file to read."""

    name: str
    data: bytes


def answered(request: bytes) -> bytes:
    """The entry point of a child process: packed TaggedWords for a packed TagRequest."""
    file = msgspec.msgpack.decode(request, type=TagRequest)
    return msgspec.msgpack.encode(read_tagged(file.name, file.data))


def read_tagged(name: str, raw: bytes) -> TaggedWords:
    """The sentences of a file, or of a list that is typed; without empty ones, which a notice counts."""
    if message := pointer_message(name, raw[:LFS_NBYTES]):
        raise TextError(message)
    ending = PurePath(name).suffix.lower()
    if ending in (*ENDINGS, ".csv"):
        raise TextError(
            f"{quoted(name)} is a table of cells; give words with their tags as JSON lines, or one word and tag a line "
            "with a blank line between sentences."
        )
    text, notices = decoded(name, raw), []
    first = text.lstrip().partition("\n")[0].strip()
    if ending in JSON or (first.startswith("{") and first.endswith("}")):
        records = (record for record in enumerate(objects(name, text), start=1) if record[1])
        rows = [tagged_record(f"Record {place:,} of {quoted(name)}", row) for place, row in records]
    else:
        rows = [(words, tags, False) for words, tags in _conll(name, text)]
    whole = [(words, tags) for words, tags, _ in rows if words]
    if not whole:
        raise TextError(
            f"{quoted(name)} has no word with a tag; write one word and tag a line, or JSON lines with tokens and tags."
        )
    if len(rows) > len(whole):
        notices.append(f"{counted(len(rows) - len(whole), 'empty sentence')} left out.")
    if cut := sum(each for _, _, each in rows):
        notices.append(f"{counted(cut, 'text')} with a span that begins or ends inside a word, which is cut there.")
    return TaggedWords([words for words, _ in whole], [tags for _, tags in whole], notices)


def _conll(name: str, text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Sentences of lines with a word in the first column, or behind a count, and its tag in the last."""
    sentences: list[list[list[str]]] = [[]]
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if not any(cells):
            sentences.append([])
        elif cells[0] == "-DOCSTART-" or COMMENT.match(line):
            continue
        elif len(cells) < 2 or not cells[0] or not cells[-1]:
            raise TextError(
                f"Line {number:,} of {quoted(name)}, {quoted(line.strip(), 40)}, is no word with a tag; write both, "
                "with a tab or space between them."
            )
        else:
            sentences[-1].append(cells)
    sentences = [rows for rows in sentences if rows]
    numbered = all(len(row) > 2 and row[0] == str(at) for rows in sentences for at, row in enumerate(rows, start=1))
    for rows in sentences:
        yield [row[int(numbered)] for row in rows], [row[-1] for row in rows]


def tagged_record(where: str, row: dict[str, Any]) -> tuple[list[str], list[str], bool]:
    """Words and tags of a record, by its tags or its spans, and whether a span cuts a word."""
    words, tags = (next((row[key] for key in keys if isinstance(row.get(key), list)), None) for keys in (WORDS, TAGS))
    text = next((row[key] for key in TEXT if isinstance(row.get(key), str)), None)
    spans = next((row[key] for key in SPANS if isinstance(row.get(key), list)), None)
    if words is not None:
        words = [each.get("text") if isinstance(each, dict) else each for each in words]
        if not all(isinstance(each, str) for each in words):
            raise TextError(f"{where} has words that are no texts; give each as a string.")
        words = [repair_surrogates(each) for each in words]
    if (words is None or tags is None) and text is not None and spans is not None:
        return _of_spans(where, repair_surrogates(text), words, spans)
    if words is None or tags is None:
        raise TextError(
            f"{where} has the fields {', '.join(quoted(key, 20) for key in list(row)[:6])}; give {WORDS[0]} with "
            f"{TAGS[0]}, or {TEXT[0]} with {SPANS[0]}, each with start, end and label."
        )
    if len(words) != len(tags):
        raise TextError(f"{where} has {counted(len(words), 'word')} and {counted(len(tags), 'tag')}; tag each word.")
    if any(isinstance(tag, bool) or not isinstance(tag, int | str) or not str(tag).strip() for tag in tags):
        raise TextError(f"{where} has a tag that is no name and no number of a label.")
    return words, [str(tag).strip() for tag in tags], False


def _of_spans(where: str, text: str, words: list[str] | None, spans: list[Any]) -> tuple[list[str], list[str], bool]:
    """Words with B- and I- tags by the spans of a text, which is cut into words if none are given."""
    gold = sorted(_span(where, text, each) for each in spans)
    for (_, end, label), (start, _, other) in pairwise(gold):
        if start < end:
            raise TextError(f"{where} has spans that overlap, {quoted(label, 20)} and {quoted(other, 20)}; keep one.")
    edges = {edge for start, end, _ in gold for edge in (start, end)}
    places = cut_words(text, edges) if words is None else _places(where, text, words)
    cut = words is None and any(text[edge - 1 : edge].isalnum() and text[edge : edge + 1].isalnum() for edge in edges)
    tags = ["O"] * len(places)
    for start, end, label in gold:
        inside = [at for at, (low, high) in enumerate(places) if low < end and high > start]
        if not inside or places[inside[0]][0] < start or places[inside[-1]][1] > end:
            raise TextError(
                f"{where} has a span, {start}:{end} ({quoted(text[start:end], 30)}), that does not begin and end with "
                "words; correct its offsets, which count characters from 0."
            )
        for at in inside:
            tags[at] = f"{'B' if at == inside[0] else 'I'}-{label}"
    return [text[start:end] for start, end in places], tags, cut


def _span(where: str, text: str, span: Any) -> tuple[int, int, str]:
    parts = [span.get(key) for key in ("start", "end", "label")] if isinstance(span, dict) else span
    match parts:
        case [int(start), int(end), str(label)] if 0 <= start < end <= len(text) and label.strip():
            return start, end, label.strip()
    raise TextError(
        f"{where} has the span {quoted(str(parts), 60)} in a text of {counted(len(text), 'character')}; give start and "
        "end, from 0 and exclusive, and a label."
    )


def _places(where: str, text: str, words: Sequence[str]) -> list[Span]:
    """The place of each word in its text."""
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0:
            raise TextError(
                f"{where} has the word {quoted(word, 30)}, which is not in the text behind the word before it; give "
                "the words of the text in their order."
            )
        end = start + len(word)
        places.append((start, end))
    return places


def cut_words(text: str, edges: set[int]) -> list[Span]:
    """Places of the words of a text: cut at white space and at these edges; signs around a word are words, too."""
    places: list[Span] = []
    for low, high in pairwise(sorted({0, len(text), *edges})):
        for piece in re.compile(r"\S+").finditer(text, low, high):
            (start, end), behind = piece.span(), []
            while start < end and _is_sign(text[start]):
                places.append((start, start + 1))
                start += 1
            while end > start and _is_sign(text[end - 1]):
                behind.append((end - 1, end))
                end -= 1
            places += [*([(start, end)] if start < end else []), *reversed(behind)]
    return places


def _is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
