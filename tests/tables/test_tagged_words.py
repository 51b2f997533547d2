"""Words with tags are read from CoNLL lines, JSON records and spans; one sentence for what cannot be read.

Covers `bertviz_core/tables/tagged_words.py`, `bertviz_core/sentences/lists.py`.
"""

import json

import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.sentences.lists import read_tagged_upload
from bertviz_core.settings import Settings
from bertviz_core.tables.tagged_words import TaggedWords, cut_words, read_tagged

WORDS, TAGS = (
    [["Maria", "Curie", "lives", "in", "Paris", "."], ["#", "1"]],
    [["B-PER", "I-PER", "O", "O", "B-LOC", "O"], ["O", "O"]],
)
LINES = [list(zip(*rows, strict=True)) for rows in zip(WORDS, TAGS, strict=True)]


def lines(form: str, end: str = "\n") -> str:
    """The sentences with a line of this form for each word."""
    blocks = [
        end.join(form.format(word=word, tag=tag, at=at) for at, (word, tag) in enumerate(rows, start=1))
        for rows in LINES
    ]
    return (end * 2).join(blocks) + end


@pytest.mark.parametrize(
    "text",
    [
        lines("{word} {tag}"),
        lines("{word}\t{tag}", "\r\n"),
        lines("{word} NN B-NP {tag}"),
        lines("{at}\t{word}\t{tag}"),
        "-DOCSTART- -X- O O\n\n" + lines("{word} NN B-NP {tag}"),
        "# id 7f domain=en\n" + lines("{word} _ _ {tag}").replace("\n\n", "\n\n\n# text = x\n"),
    ],
)
def test_lines_of_conll(text: str) -> None:
    assert read_tagged("a.conll", text.encode()) == TaggedWords(WORDS, TAGS, [])


@pytest.mark.parametrize("names", [("tokens", "ner_tags"), ("words", "tags"), ("tokens", "labels")])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "typed"])
def test_records_of_words_and_tags(names: tuple[str, str], name: str) -> None:
    records = [dict(zip(names, each, strict=True)) for each in zip(WORDS, TAGS, strict=True)]
    text = json.dumps(records) if name == "a.json" else "\n".join(map(json.dumps, records))
    assert read_tagged(name, text.encode()) == TaggedWords(WORDS, TAGS, [])
    numbers = read_tagged("a.jsonl", b'{"tokens": ["a", "b"], "ner_tags": [0, 12]}\n{"tokens": [], "ner_tags": []}')
    assert numbers == TaggedWords([["a", "b"]], [["0", "12"]], ["1 empty sentence left out."])


def test_spans_are_joined_to_words_by_offsets() -> None:
    text = "Maria Curie lives in Paris."
    spans = [{"start": 21, "end": 26, "label": "LOC"}, {"start": 0, "end": 11, "label": "PER"}]
    triples = [[21, 26, "LOC"], [0, 11, "PER"]]
    of_words = [{"text": word, "start": 0, "end": 0} for word in WORDS[0]]
    expected = TaggedWords(WORDS[:1], TAGS[:1], [])
    for record in (
        {"text": text, "entities": spans},
        {"text": text, "label": triples},
        {"text": text, "tokens": WORDS[0], "entities": spans},
        {"text": text, "tokens": of_words, "spans": spans},
    ):
        assert read_tagged("a.jsonl", json.dumps(record).encode()) == expected


def test_a_span_inside_a_word_cuts_it_and_that_is_said() -> None:
    read = read_tagged("a.jsonl", json.dumps({"text": "東京に住む", "entities": [[0, 2, "LOC"]]}).encode())
    cut = "1 text with a span that begins or ends inside a word, which is cut there."
    assert read == TaggedWords([["東京", "に住む"]], [["B-LOC", "O"]], [cut])


def test_signs_around_a_word_are_words_and_those_inside_are_not() -> None:
    text = ' ("Don\'t", e-mail U.S. हिन्दी।)'
    words = [text[start:end] for start, end in cut_words(text, set())]
    assert words == ["(", '"', "Don't", '"', ",", "e-mail", "U.S", ".", "हिन्दी", "।", ")"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "has no word with a tag"),
        ("a.txt", "a O\nb", "Line 2 of 'a.txt', 'b', is no word with a tag"),
        ("a.csv", "a,O", "is a table of cells"),
        ("a.jsonl", '{"x": 1}', "has the fields 'x'"),
        ("a.jsonl", '{"tokens": ["a"], "tags": []}', "has 1 word and 0 tags"),
        ("a.jsonl", '{"tokens": ["a"], "tags": [null]}', "has a tag that is no name"),
        ("a.jsonl", '{"tokens": [1], "tags": [1]}', "has words that are no texts"),
        (
            "a.jsonl",
            '{"text": "abc def", "entities": [[0, 3, "A"], [2, 5, "B"]]}',
            "has spans that overlap, 'A' and 'B'",
        ),
        ("a.jsonl", '{"text": "abc", "entities": [[0, 9, "A"]]}', "in a text of 3 characters"),
        (
            "a.jsonl",
            '{"text": "abc", "tokens": ["b", "a"], "entities": []}',
            "has the word 'a', which is not in the text",
        ),
        (
            "a.jsonl",
            '{"text": "abc", "tokens": ["abc"], "entities": [[0, 2, "A"]]}',
            "does not begin and end with words",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(name: str, text: str, message: str) -> None:
    with pytest.raises(BertvizError) as caught:
        read_tagged(name, text.encode())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_upload_is_read_in_a_process_of_its_own() -> None:
    settings = Settings.from_environment()
    data = lines("{word} {tag}").encode()
    assert read_tagged_upload("a.conll", data, settings) == TaggedWords(WORDS, TAGS, [])
    with pytest.raises(BertvizError, match="is no word with a tag"):
        read_tagged_upload("a.conll", b"alone", settings)
