"""Names that an address may have: their parameters, pages, values, and how links treat them."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st
from streamlit.runtime.state import get_session_state

from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.questions import corpora
from bertviz_core.questions.interventions import attributions, effects, journey_change, targets
from bertviz_core.questions.models import architecture, checkpoints, training
from bertviz_core.questions.parameters import Param, flag
from bertviz_core.questions.predictions import (
    answer_list,
    calibration,
    followed,
    gold_tags,
    label_errors,
    labelled_texts,
    masked_lm,
    predict,
    ranking,
    swaps,
    thresholds,
)
from bertviz_core.questions.texts import (
    attention,
    background,
    bits,
    chunks,
    hidden_states,
    journey,
    number_formats,
    prompts,
    sentences,
    tokens,
    two_models,
    vectors,
)
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR
from bertviz_core.questions.views import answered, causes, checkpoint, corpus, parameters, representations, words
from bertviz_core.questions.views import attention as attention_view
from bertviz_core.questions.views import heads as heads_view
from bertviz_core.questions.views import journey as journey_view
from bertviz_core.questions.views import sentences as sentence_views
from bertviz_core.questions.views import training as run_of_training
from bertviz_core.questions.views.labelled.answer_list import ASKED_FROM, ASKED_OPENED, TYPED_QUESTIONS
from bertviz_core.questions.views.labelled.label_errors import SUSPECT
from bertviz_core.questions.views.vectors import chunks as chunks_view
from bertviz_core.questions.views.vectors import heads as heads_of_texts
from bertviz_core.questions.views.vectors import prompts as prompt_views
from bertviz_core.questions.views.vectors import thresholds as threshold_view
from ui.components.frame import ARRIVE
from ui.session import TOUR


def discard(names: Iterable[str]) -> None:
    """Remove names from the address, bound to a widget or not, and from the initial values of widgets.

    The browser gets the new address once. Checked with Streamlit 1.67 by tests/ui/address/test_query.py.
    """
    with get_session_state().query_params() as params:
        *others, last = names
        for name in others:
            params.discard_param_no_forward_msg(name)
        params.remove_param(last)  # notifies the browser
        params.set_initial_query_params_from_current()


Linked = Literal["shown", "on request", "placed", "column", "always"]
"""How a link treats a value. "shown": it is in the address anyway; "on request": a text, left out by default; "placed":
a number that needs such a text; "column": name of a column, included for a file; "always": included even by default."""
WHOLE = ("whole", "span", "head", "position")
"""Kinds whose value in an address is a whole number, or two of them."""
FOLDED = re.compile(r"[a-z][a-z_]*_(?:table|explained|figure)")
"""A folded part of a page, by the name of its figure: true where it is open."""


@dataclass(frozen=True, slots=True)
class AddressName:
    """A name of the address."""

    param: Param
    """Its key is the name in the address."""
    pages: tuple[str, ...]
    """Pages that have a widget for it; () for every page."""
    linked: Linked = "shown"
    carried: bool = False
    """Whether its pages have one value, which is in sight on each of them; otherwise each page has its own."""


def _on(pages: str, *params: Param, linked: Linked = "shown", carried: bool = False) -> tuple[AddressName, ...]:
    return tuple(AddressName(param, tuple(pages.split()), linked, carried) for param in params)


def _words(key: str, help_text: str, *options: str) -> Param:
    return Param(key, "choice" if options else "text", help_text, options)


STATE = Param("layer", "layer", "the layer after which hidden states are read, from 0, or embeddings")
"""Commands and the library count the entries of hidden_states instead: 0 for the embeddings, 1 after layer 0."""

ROWS: tuple[AddressName, ...] = (
    *_on("", _words("model", "the model, the bundled one by default"), checkpoints.OTHER, carried=True),
    *_on("", _words("view", "the view of the page")),
    *_on("", _words("text", "the text"), _words("pair", "the second text"), linked="on request", carried=True),
    *_on("overview", flag("overview_has", "whether the list of what the model has is open")),
    *_on("parameters architecture", parameters.TASK),
    *_on("parameters", architecture.FORM, architecture.DEPTH, parameters.MODULE, parameters.SEARCH, parameters.ROWS),
    *_on("parameters", parameters.SPLIT, _words("models", "models that are compared, the name once for each")),
    *_on("architecture", architecture.LAYER, architecture.HOLDING),
    *_on(
        "architecture",
        _words("find", "part of a module's name or class"),
        architecture.LEVELS,
        architecture.ONE_BY_ONE,
        _words("looked_at", "the selected module"),
        flag("architecture_printed", "whether the text of print(model) is unfolded"),
    ),
    *_on("checkpoint", checkpoints.LABELS, checkpoints.STATISTIC, checkpoints.WEIGHTS_SCALE),
    *_on("checkpoint", checkpoints.TENSOR, checkpoints.CHANGED, checkpoints.SCALE, checkpoints.ORDER),
    *_on("checkpoint", checkpoints.UPDATE_MEASURE),
    *_on("checkpoint", number_formats.NUMBER_FORMATS, number_formats.ROUNDED_BY, number_formats.ROUNDED_FOR),
    *_on(
        "checkpoint",
        checkpoint.LOAD_TASK,
        checkpoint.KEY_STATUS,
        checkpoint.KEY_SEARCH,
        checkpoint.COMPARED,
        checkpoint.COMPARED_LIST,
        _words("answers_from", "where the texts come from", "example set", "my own list", "file", TEXTS_FILE),
        answered.KIND,
        answered.LABEL,
        answered.BY,
        answered.BY_THIS,
        answered.SLICE,
        answered.OPENED,
        flag("checkpoint_names", "whether the list of tensors without a partner is open"),
    ),
    *_on("checkpoint", checkpoint.COMPARED_TEXTS, linked="on request"),
    *_on(
        "checkpoint", _words("answered_texts", "texts, one on each line, after a label and a tab"), linked="on request"
    ),
    *_on("checkpoint", checkpoints.LAYER_MEASURE),
    *_on("checkpoint", run_of_training.TRAINING, linked="always"),
    *_on("checkpoint", training.FROM, training.PART, followed.ENTROPY_DRAWN),
    *_on(
        "checkpoint",
        run_of_training.FIRST_CHECKPOINT,
        run_of_training.SECOND_CHECKPOINT,
        flag("checkpoint_frozen", "whether the list of tensors that never moved is open"),
        run_of_training.FOLLOWED,
        flag("checkpoint_answers_by_step", "whether the table of the answers of every checkpoint is open"),
    ),
    *_on("tokens", tokens.BELOW_TOKENS, tokens.TOKEN, tokens.TOKENIZER),
    *_on("representations sentences predictions words", STATE),
    *_on("representations", hidden_states.FIRST, hidden_states.WIDTH, hidden_states.MEASURE),
    *_on("representations", hidden_states.TOKENS, hidden_states.PICKED),
    *_on("representations", representations.VECTORS),
    *_on(
        "representations",
        hidden_states.WORD,
        _words("first_text", "the first text that the word is in"),
        _words("second_text", "the second one"),
        linked="on request",
    ),
    *_on("journey", hidden_states.LAYER, hidden_states.HEAD, hidden_states.QUERY, hidden_states.KEY),
    *_on("heads attention", hidden_states.LAYER, hidden_states.HEAD, hidden_states.QUERY, carried=True),
    *_on("journey", *journey.LOOKS, journey_view.RESTS),
    *_on("journey", journey_change.CHANGE),
    *_on("journey predictions", EDITED, linked="on request", carried=True),
    *_on("heads", hidden_states.MATRIX, hidden_states.CUT),
    *_on("heads", hidden_states.KEY),
    *_on("heads", heads_view.WEIGHTS, heads_view.ROW_OPEN, heads_view.PRODUCTS_SHOWN),
    *_on("attention", attention.WEIGHTS, attention.WORDS, attention.SPECIAL, attention.PUNCTUATION, attention.PART),
    *_on("attention", attention.QUERIES, attention.KEYS, two_models.OTHER_LAYER, two_models.OTHER_HEAD),
    *_on("attention", attention_view.LOOK, attention_view.MEASURES_OPEN, attention_view.BESIDE),
    *_on("sentences", _words("sentences", "the list, a sentence on each line"), sentences.QUERY, linked="on request"),
    *_on("sentences", _words("gold_pairs", "pairs: two sentences and their similarity a line"), linked="on request"),
    *_on("sentences", sentence_views.TWO_MODELS_OF, sentence_views.GOLD_FROM, vectors.OUTSIDE_FROM, vectors.MISTAKE),
    *_on("sentences", vectors.TRIED_PROMPTS, linked="on request"),
    *_on("sentences", bits.QUERIES_FROM, bits.NEAREST, bits.OVERSAMPLING, bits.CALIBRATION),
    *_on("sentences", bits.QUERY_LINES, linked="on request"),
    *_on("sentences", _words("long_text", "the long text"), chunks.QUERY, linked="on request"),
    *_on("sentences", chunks_view.LONG_FROM, chunks.TOKENS, chunks.OVERLAP),
    *_on("sentences", prompt_views.PROMPTED, prompts.PAIR, prompt_views.SEARCH_FROM),
    *_on(
        "sentences",
        prompts.QUERY_TEXT,
        prompts.DOCUMENT_TEXT,
        _words("search_rows", "queries: a query, a document and its relevance a line"),
        linked="on request",
    ),
    *_on(
        "sentences",
        threshold_view.LABELLED_FROM,
        thresholds.SCORED_BY,
        thresholds.NUMBER,
        thresholds.CUT,
        thresholds.PRECISION,
    ),
    *_on("sentences", sentence_views.FIRST_SENTENCE, sentence_views.SECOND_SENTENCE, linked="placed"),
    *_on("sentences", ranking.RANKED_BY, ranking.LABEL, ranking.BESIDE, ranking.WEIGHTS),
    *_on("sentences", heads_of_texts.RANKED_TEXT, linked="placed"),
    *_on(
        "sentences",
        _words("sentence_column", "the column of a file with the sentences"),
        _words("colour_column", "the column that the points are coloured by"),
        linked="column",
    ),
    *_on("sentences", sentences.POOLING, sentences.MEASURE, sentences.ORDER, sentences.PLACED, sentences.FIRST_ROW),
    *_on("sentences", sentences.CELLS, sentences.PROMPT),
    *_on(
        "sentences",
        sentence_views.SOURCE,
        sentence_views.EXAMPLE,
        sentences.QUERY_PROMPT,
        sentences.BFLOAT16,
        background.BACKGROUND,
        background.SCALED,
        sentence_views.VECTORS_SHOWN,
        sentence_views.VECTORS_IN,
    ),
    *_on("predictions", masked_lm.MASK, masked_lm.POSITION, masked_lm.LENS, masked_lm.SHOWN, masked_lm.GUESS),
    *_on("predictions", predict.ORDER, predict.JOINED, predict.LONGEST, predict.WINDOW),
    *_on("predictions", labelled_texts.POOLING, labelled_texts.SEED),
    *_on("predictions", ASKED_FROM, answer_list.NULL_THRESHOLD, ASKED_OPENED),
    *_on("predictions", TYPED_QUESTIONS, linked="on request"),
    *_on("predictions", calibration.LABEL, calibration.BINNED, calibration.BINS_COUNT),
    *_on("predictions", gold_tags.TAGS_FROM, gold_tags.MODE, gold_tags.SPACE, gold_tags.SENTENCE, gold_tags.ALIGNED),
    *_on("predictions", gold_tags.TAGGED, linked="on request"),
    *_on(
        "predictions",
        masked_lm.COMPARE,
        EDITED_PAIR,
        labelled_texts.LABELLED_TEXTS,
        labelled_texts.MANY_TEXTS,
        linked="on request",
    ),
    *_on("predictions", masked_lm.TERMS, predict.HEAD_OF, answered.MANY_OPENED),
    *_on("predictions", labelled_texts.TEXTS_FROM, labelled_texts.ANSWERED_BY, labelled_texts.LABELLED),
    *_on(
        "predictions", label_errors.PROBABILITIES_FROM, label_errors.SUSPECTS_BY, label_errors.SUSPECTS_ORDER, SUSPECT
    ),
    *_on("predictions", swaps.SWAP_SET, swaps.COMPARED, swaps.OUTPUT),
    *_on("predictions", swaps.WORD_PAIRS, swaps.TEMPLATES, linked="on request"),
    *_on("causes words journey", targets.TARGET, targets.MEASURE, carried=True),
    *_on(
        "causes words journey",
        Param("target_at", "position", "the position of the target"),
        _words("target_class", "the class or tag"),
        _words("target_layer", "the hidden state that the target is in"),
        Param("target_dimension", "whole", "one number of it"),
        _words("classes_of", "whether the classes of the head or of the probe are the target", "the head", "the probe"),
        carried=True,
    ),
    *_on(
        "causes words journey",
        _words("target_word", "the word of the target"),
        _words("direction_from", "the text that the direction leads from"),
        _words("direction_to", "the text that it leads to"),
        linked="on request",
        carried=True,
    ),
    *_on("causes", effects.COUNT),
    *_on("causes journey", effects.REMOVED_FOR),
    *_on("causes", effects.TEXTS_DRAWN),
    *_on("causes", causes.SENTENCES, linked="on request"),
    *_on("causes", causes.HEAD, causes.REMOVED_HEADS, causes.WHICH, causes.PATCHED, causes.LIST),
    *_on(
        "words",
        attributions.METHOD,
        attributions.COMPARED,
        attributions.UNITS,
        attributions.IN_PLACE,
        attributions.CLASSES,
        words.CLASSES_BY,
    ),
    *_on("corpus", corpus.CORPUS, linked="always"),
    *_on("corpus", corpus.QUERY, corpora.WHERE, linked="on request"),
    *_on("corpus", corpora.HITS, corpora.PLACED, corpora.COLOURED, corpora.ALIKE, corpora.CLUSTERING),
    *_on("corpus", corpora.CLUSTERS, corpora.LEAST, corpora.SAMPLE, corpora.PART_COLUMN, corpora.PART, corpora.MEASURE),
    *_on("corpus", corpora.LABELS, corpora.PROBE_TEXTS, corpora.POOLING),
    *_on("corpus", corpora.NEIGHBOUR_MODEL, corpora.NEIGHBOUR_COUNT, corpora.NEIGHBOUR_ROWS),
    *_on("corpus", corpus.HIT, corpus.GROUP, corpus.CLUSTER, corpus.FIRST_ROW, corpus.CHANGED_ROW),
    *_on("corpus", _words("area", "the part of the map that is drawn; copy it from an address")),
    *_on("", _words("cell", "a clicked cell of a figure, as FIGURE.ROW.COLUMN")),
)
"""In the order of the pages; a name with different meanings has a row for each."""


def param(key: str) -> Param:
    """The parameter of a control that belongs to no question."""
    return next(row.param for row in ROWS if row.param.key == key)


NAMES = frozenset(row.param.key for row in ROWS)
"""All names but those of folded parts."""
NUMBERS = frozenset(row.param.key for row in ROWS if row.param.kind in WHOLE)
"""Names whose value is a whole number, or a pair of them."""
TYPED = tuple(dict.fromkeys(row.param.key for row in ROWS if row.linked == "on request"))
"""Texts that a reader types: links include them on request, and the browser's tab keeps them over a reload."""


def _sharing() -> Mapping[str, frozenset[tuple[str, ...]]]:
    """Name -> groups of pages, each of which has one value."""
    groups: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in ROWS:
        pages = row.pages or tuple(PAGES)
        groups[row.param.key] |= {pages} if row.carried else {(each,) for each in pages}
    return {name: frozenset(each) for name, each in groups.items()}


SHARING = _sharing()
"""Name -> groups of pages; the pages of a group have one value, and a change on one of them is seen on the others."""
SEVERAL = frozenset(name for name, groups in SHARING.items() if len(groups) > 1)
"""Names that have several values in a session."""


def owners(page: str) -> dict[str, tuple[str, ...]]:
    """Name -> the pages that share its value with a page, for names that have several values."""
    return {name: group for name in SEVERAL for group in SHARING[name] if page in group}


def is_of_page(name: str, page: str) -> bool:
    """Whether the address of a page may have this name, which a control or a folded part of the page has."""
    rows = [row for row in ROWS if row.param.key == name]
    if not rows:
        return bool(FOLDED.fullmatch(name)) and name.startswith(f"{page}_")
    return any(not row.pages or page in row.pages for row in rows)


def params(page: str) -> Iterator[Param]:
    """The parameters of the controls of a page."""
    return (row.param for row in ROWS if page in row.pages)


def linked(how: Linked, page: str) -> tuple[str, ...]:
    """Names that links of a page treat in this way, those of every page first."""
    return tuple(row.param.key for row in ROWS if row.linked == how and (not row.pages or page in row.pages))


def names_read_once() -> tuple[str, ...]:
    """Names that are removed from an address once read: texts, and those that are only meaningful with them."""
    return tuple(dict.fromkeys(row.param.key for row in ROWS if row.linked in ("on request", "placed", "column")))


def put(name: str, text: str | None) -> None:
    """Write a value into the address; None or "" removes the name."""
    if not text:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != text:
        st.query_params[name] = text


def put_all(values: Mapping[str, str | None]) -> None:
    """Write values into the address; None or "" removes a name.

    The browser gets the whole address even where nothing seems to change: with a click that follows closely on another
    it still sends the address as it was before the first.
    """
    for name, text in values.items():
        if not text:
            st.query_params.pop(name, None)
    st.query_params.update({name: text for name, text in values.items() if text})


def take(names: Iterable[str]) -> dict[str, str]:
    """Remove names from the address; returns the values of those that were present."""
    return {name: st.query_params.pop(name) for name in names if name in st.query_params}


@dataclass(frozen=True, slots=True)
class ComponentText:
    """The state of a component in the address, and the circumstances in which it was read or written."""

    text: str = ""
    """The value in the address."""
    serial: int | None = None
    """Serial number of the last message of the browser."""
    shown: Hashable = None
    """What the component showed; None before it was drawn with this text."""
    reads: int = 0
    """How many times the text was read from the address."""


def _state(name: str) -> ComponentText:
    state = st.session_state.get(f"address_{name}")
    return state if isinstance(state, ComponentText) else ComponentText()


def read_component(name: str, serial: int | None) -> None:
    """Read the state of a component from an address that was changed from outside, by a link or by Back.

    Call this when the whole page runs. A message of the browser in the same run, which a new serial number tells, has
    priority, since it contains the address as it was before the last change to it.
    """
    state, text = _state(name), st.query_params.get(name, "")
    if text != state.text and serial in (None, state.serial):
        st.session_state[f"address_{name}"] = ComponentText(text, serial, None, state.reads + 1)


def remembered_text(name: str) -> str:
    """The state of a component when it was last drawn outside a lesson; "" for none."""
    return str(st.session_state.get(f"remembered_{name}", ""))


def component_text(name: str, serial: int | None) -> ComponentText | None:
    """Return the state in the address; None if the browser has sent a message since."""
    state = _state(name)
    return state if serial in (None, state.serial) else None


def write_component(name: str, text: str, serial: int | None, shown: Hashable) -> int:
    """Write the state of a component without another run; returns how many times it was read from the address."""
    before = _state(name)
    st.session_state[f"address_{name}"] = ComponentText(text, serial, shown, before.reads)
    if st.session_state.get(TOUR) is None:
        st.session_state[f"remembered_{name}"] = text
    if text == before.text:
        put(name, text)
    else:
        put_all({name: text})
    return before.reads


def link_query(
    page: str, values: Mapping[str, object], defaults: Mapping[str, str], typed: bool, from_file: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a link to a page that are not in the address anyway.

    Empty values, and texts equal to their defaults, are left out; the reader's own texts unless `typed`; and the page's
    own list where it comes from a file.
    """
    yield from _filled(linked("always", page), values)
    if typed:
        for name in linked("on request", "" if from_file else page):
            text = values.get(name)
            if isinstance(text, str) and text != defaults.get(name, ""):
                yield name, text
        yield from _filled(linked("column" if from_file else "placed", page), values)


def _filled(names: Iterable[str], values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    return ((name, str(values[name])) for name in names if values.get(name))


MOST_DIGITS, MOST_CHARACTERS, MOST_VALUES = 9, 10_000, 100
"""Limits of a number, of any other value, and of the values of one name."""
SHOWN_CHARACTERS, SHOWN_NAMES = 20, 3
NUMBER = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}")


def whole(written: str | None) -> int | None:
    """Parse a whole number from 0 of at most nine digits; None for anything else."""
    digits = (written or "").lstrip("0") or (written or "")[-1:]
    return int(digits) if NUMBER.fullmatch(digits) and not digits.startswith("-") else None


RENAMED: Mapping[tuple[str, str, str], str] = {("checkpoint", "view", "Two checkpoints"): "Compare with base"}
"""Page, name and value of an address of an older version -> the value today (docs/compatibility.md)."""


def take_renamed(page: str) -> None:
    """Replace values that an older version wrote into the address of a page."""
    for (of, name, before), now in RENAMED.items():
        if page == of and st.query_params.get(name) == before:
            put(name, now)


def clean() -> str:
    """Remove values that no widget accepts; returns a sentence about them, "" for none."""
    named = {name: st.query_params.get_all(name) for name in st.query_params}
    left_out = {name: value for name, values in named.items() if (value := refused(name, values)) is not None}
    if not left_out:
        return ""
    discard(left_out)
    words = [f"{_short(name)}={_short(value)}" for name, value in left_out.items()][:SHOWN_NAMES]
    more = f" and {len(left_out) - len(words):,} more" if len(left_out) > len(words) else ""
    return (
        f"The address has {', '.join(words)}{more}, which no control accepts: numbers are whole and have at most "
        f"{MOST_DIGITS} digits, and other values have at most {MOST_CHARACTERS:,} characters."
    )


def refused(name: str, values: list[str]) -> str | None:
    """The value of a name that no widget accepts; None where there is none."""
    if name in TYPED:
        return None
    if name in NUMBERS:
        return next((value for value in values if not NUMBER.fullmatch(value)), None)
    if len(values) > MOST_VALUES or len(name) > MOST_CHARACTERS:
        return values[-1]
    most = 4 * MOST_CHARACTERS if name == ARRIVE else MOST_CHARACTERS  # a whole percent-encoded address
    return next((value for value in values if len(value) > most), None)


def _short(words: str) -> str:
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
