"""200,000 letters without a space, in any text field, keep no other reader waiting on any page.

Checks that the interpreter keeps serving: while one reader's page is drawn, another requests a page of the same server
every fifth of a second. A wait of over a second counts if it occurs each time that the page is drawn: a first visit to
a view loads its code, and a busy machine delays some responses, but not the same one three times.
"""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import ROOT, serving
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.helpers.tiny_heads import save_tiny_head
from tests.image.session import drawn, opened
from tests.ui.test_share import VIEWS
from ui.address.registry import TYPED, linked

LETTERS, WORDS_AT_ONCE = 200_000, 2
"""Number of letters; Streamlit ignores addresses of more than 512 Ki characters."""
EVERY_S, MOST_S, LOST_S, TIMES = 0.2, 1.0, 30.0, 3
TOO_LONG = (400, 414, 431)
"""Status codes for addresses that the server does not read."""
SPECIAL = {"where": "kind=", "corpus_query": "http://", "word": "www.", "text": "x@"}
"""Prefix of the letters for fields that a page parses in a special way."""
PAIR = {"pair": "It stood by the river."}
OTHERS = (
    (
        "representations",
        {"view": "One word, two texts", "word": "bank", "first_text": "The bank.", "second_text": "A bank."},
    ),
    ("sentences", {"sentences": "One.\nTwo.", "query_sentence": "Three."}),
    ("sentences", {"view": "Long text", "long_text": "One. Two.", "chunk_query": "One."}),
    ("sentences", {"view": "Outside vectors", "outside_from": "file", "tried_prompts": "query: "}),
    ("sentences", {"view": "Smaller vectors", "queries_from": "my own list", "query_lines": "One."}),
    (
        "sentences",
        {
            "view": "Prompts",
            "prompted": "queries with gold",
            "search_rows": "One?\tOne.\t1",
            "query_prompt_text": "query: ",
            "document_prompt_text": "passage: ",
        },
    ),
    ("predictions", {"model": "splade-tiny", "compare": "snake"}),
    ("predictions", {"model": "splade-tiny", "view": "Change a word", "edited_pair": "It stood.", **PAIR}),
    ("predictions", {"model": "classes", "view": "Several texts", "many_texts": "One."}),
    ("predictions", {"view": "Train a probe", "labelled": "typed", "labelled_texts": "a\tOne."}),
    ("predictions", {"view": "Word swaps", "swap_set": "typed", "word_pairs": "a / b", "swap_templates": "{} cat"}),
    ("predictions", {"model": "tags", "view": "Gold tags", "tags_from": "typed", "tagged_words": "One B-PER"}),
    ("predictions", {"model": "spans", "view": "Answers over a list", "asked_from": "typed", "asked": "Who?\tOne."}),
)
"""Views with text fields for which the links of the other test have no text."""


class Long(NamedTuple):
    """A view, and the field with the long text."""

    page: str
    query: Mapping[str, Any]
    """Parameters of its address."""
    names: tuple[str, ...]

    @property
    def address(self) -> str:
        """The part of the address after the question mark."""
        long = {name: SPECIAL.get(name, "") + "x" * LETTERS for name in self.names}
        short = {name: value for name, value in self.query.items() if name not in self.names}
        return urlencode({**short, **long}, doseq=True)

    @property
    def name(self) -> str:
        """Id of the test case."""
        return f"{self.page}, {self.query.get('view', 'first view')}: {' and '.join(self.names)}"


def all_views() -> Iterator[Long]:
    """Every view that a link leads to, with every text field of its page."""
    for page, query in (*((page, {**query, **texts}) for page, query, texts in VIEWS), *OTHERS):
        names = linked("on request", page)
        for start in range(0, len(names), WORDS_AT_ONCE):
            yield Long(page, query, names[start : start + WORDS_AT_ONCE])


def one_view_for_each() -> list[Long]:
    """One view for every text field of every page, preferably one whose link contains the text."""
    every, chosen = list(all_views()), dict[str, Long]()
    for page, name in sorted({(long.page, name) for long in every for name in long.names}):
        takes = [long for long in every if long.page == page and name in long.names]
        found = next((long for long in takes if name in long.query), takes[0])
        chosen[repr(found)] = found
    return list(chosen.values())


class Waits:
    """Measures how long another reader waits for a page, requested every fifth of a second."""

    def __init__(self, url: str) -> None:
        self.longest = 0.0
        self._url, self._over = url, threading.Event()
        self._reader = threading.Thread(target=self._read)

    def _read(self) -> None:
        while True:
            begun = monotonic()
            try:
                with urllib.request.urlopen(self._url, timeout=LOST_S) as answer:
                    answer.read()
            except TimeoutError:
                pass
            self.longest = max(self.longest, monotonic() - begun)
            if self._over.wait(EVERY_S):
                return

    def __enter__(self) -> "Waits":
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._reader.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a corpus and models with heads."""
    home = tmp_path_factory.mktemp("home")
    make_corpus(home / "corpora" / "made", 400, seeded_vectors(0))
    save_tiny_head("bert", "sequence-classification", home / "models" / "classes", num_labels=3)
    save_tiny_head("bert", "token-classification", home / "models" / "tags", num_labels=3)
    save_tiny_head("bert", "question-answering", home / "models" / "spans")
    with serving(home) as url:
        with opened(url, {}) as session:  # imports the models' library
            drawn(session, page="attention")
        yield url


def wait(url: str, ask: Callable[[], object]) -> float:
    """The longest wait of another reader during a request; the minimum of several repetitions."""
    least = LOST_S
    for _ in range(TIMES):
        with Waits(url) as waits:
            ask()
        least = min(least, waits.longest)
        if least <= MOST_S or waits.longest >= LOST_S:
            break
    return least


def draw(url: str, long: Long) -> None:
    """Draw a view in a new session, which receives the text in a tab's message."""
    with opened(url, {}) as session:
        drawn(session, long.address, long.page)


def get(url: str, long: Long) -> None:
    """Request the address like a browser; the server may refuse such a long one."""
    try:
        with urllib.request.urlopen(f"{url}/{long.page}?{long.address}", timeout=LOST_S) as answer:
            answer.read()
    except urllib.error.HTTPError as refused:
        refused.close()
        if refused.code not in TOO_LONG:
            raise


def test_every_page_and_every_word_is_tried() -> None:
    every = list(all_views())
    assert {long.page for long in every} == {path.stem for path in (ROOT / "pages").glob("[a-z]*.py")}
    assert {name for long in every for name in long.names} == set(TYPED)
    read = {name for long in one_view_for_each() for name in long.names if name in long.query}
    assert read == set(TYPED), "a word that no view above is known to read"
    assert {long.page for long in one_view_for_each()} == {long.page for long in every}
    assert {name for long in one_view_for_each() for name in long.names} == set(TYPED)


@pytest.mark.slow
def test_a_long_address_keeps_nobody_waiting(server: str) -> None:
    assert wait(server, lambda: [get(server, long) for long in one_view_for_each()]) <= MOST_S


@pytest.mark.slow
@pytest.mark.parametrize("long", list(all_views()), ids=lambda long: long.name)
def test_a_long_word_keeps_nobody_waiting_in_any_view(server: str, long: Long) -> None:
    assert wait(server, lambda: draw(server, long)) <= MOST_S
