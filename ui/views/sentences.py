"""What Sentences draws by itself: its list, its map, pairs with gold similarities."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.sentences.similarity import GROUPS, drawn_points, free_name, sentence_map_figure
from bertviz_core.hidden_states.geometry import inside_polygon
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.bits import QUERIES_FROM, QUERY_LINES
from bertviz_core.questions.texts.chunks import EXAMPLE as LONG_EXAMPLE
from bertviz_core.questions.texts.sentences import QUERY, sentence_map, sentence_plan, sentence_vectors, vector_options
from bertviz_core.questions.texts.two_models import gold_options
from bertviz_core.questions.texts.vectors import OUTSIDE_FROM, TRIED_PROMPTS, outside_options
from bertviz_core.questions.view import Ask, Notices, Part, Table, Text
from bertviz_core.questions.views.sentences import (
    EXAMPLE,
    GOLD_FROM,
    OF_LIST,
    SOURCE,
    TWO_MODELS_OF,
    VIEWS,
    gold_view,
    list_view,
    of_both,
)
from bertviz_core.questions.views.texts.sentences import MAP, NO_PAIRS, variance_words, vector_code
from bertviz_core.questions.views.vectors.bits import smaller_view
from bertviz_core.questions.views.vectors.chunks import LONG_FROM, LONG_TEXT
from bertviz_core.questions.views.vectors.outside import outside_view
from bertviz_core.questions.views.vectors.plan import made_by, vectors_used
from bertviz_core.questions.views.vectors.thresholds import LABELLED_FROM, THRESHOLD, thresholds_view
from bertviz_core.questions.views.vectors.thresholds import NO_PAIRS as NO_LABELLED_PAIRS
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models import SCORE_COLUMNS, SECOND_COLUMNS, table_pairs, typed_pairs, usual_column
from bertviz_core.text import counted, escape_markdown
from ui.address.widgets import choice, select
from ui.components.chart import chosen_points
from ui.examples import EXAMPLES, QUERIES
from ui.session import DEFAULT_TEXT, end_page, settings, store, stored
from ui.widgets.figure_block import chart, download_row, explained, folded_table, page_theme
from ui.widgets.heading import mark_example, page_pair, page_text, unshown
from ui.widgets.models import VIEW
from ui.widgets.uploads import (
    BOX,
    ListFile,
    column_select,
    most_megabytes,
    text_of_file,
    typed_lines,
    vectors_of_file,
    wait_for_file,
    within_upload,
)

FILE = ListFile("gold")
QUERIES_WORDS = "A text with one query per line, or a table with its column names in the first row. It stays here."


def two_models_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """The list in two models, or pairs of sentences with their gold similarity."""
    if options.choice(TWO_MODELS_OF) == OF_LIST:
        return list_view(opened, ask, options)
    with st.popover("Pairs", icon=":material/edit_note:", key="gold_box"), st.container(width=BOX):
        from_file = (
            choice(GOLD_FROM, GOLD_FROM.label, GOLD_FROM.options, label_visibility="collapsed") == GOLD_FROM.options[1]
        )
        pairs = _of_file() if from_file else _typed()
    if pairs is not None:
        return gold_view(opened, ask, gold_options(pairs, of_both(opened, options).values))
    if from_file:
        wait_for_file("Pairs")
    else:
        st.info(NO_PAIRS, icon=":material/info:")
    return ()


def labelled_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """The threshold of labelled pairs: of an example, of typed lines or of a file, which both pair views share."""
    source = options.choice(LABELLED_FROM)
    if source == LABELLED_FROM.options[0]:
        return thresholds_view(opened, ask, replace(options, texts=()))
    from_file = source == LABELLED_FROM.options[2]
    with st.popover("Pairs", icon=":material/edit_note:", key="labelled_box"), st.container(width=BOX):
        pairs = _of_file() if from_file else _typed()
    if pairs is not None:
        return thresholds_view(opened, ask, replace(options, texts=gold_options(pairs, {}).texts))
    if from_file:
        wait_for_file("Pairs")
    else:
        st.info(NO_LABELLED_PAIRS, icon=":material/info:")
    return ()


Pairs = tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...]]


def _typed() -> Pairs | None:
    table = typed_lines("Pairs, one a line", "gold_pairs", "first sentence<tab>second sentence<tab>similarity")
    return None if table is None else typed_pairs(table)


def _of_file() -> Pairs | None:
    table = FILE.table(
        "A table with two columns of sentences and one of numbers, such as sentence1, sentence2 and score, its "
        f"column names in the first row; at most {most_megabytes()} MB. It stays on this server."
    )
    return None if table is None else _of_table(table)


def _of_table(table: SentenceTable) -> Pairs | None:
    names = [str(name) for name in table.frame.columns]
    if len(names) < 2:
        st.caption("The file needs two more columns beside this one: second sentences, and numbers.")
        return None
    second = column_select("Second sentence", "gold_second", names, usual_column(names, SECOND_COLUMNS) or names[0])
    score = column_select("Gold similarity", "gold_score", names, usual_column(names, SCORE_COLUMNS) or names[-1])
    firsts, seconds, gold, notices = table_pairs(table, second, score)
    for notice in unshown(notices):
        st.caption(escape_markdown(notice))
    return firsts, seconds, gold


QUERIES_FILE = ListFile("queries")


def smaller_vectors_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """Vectors of fewer bits, with each sentence as a query, or with queries that are typed or of a file."""
    source = options.choice(QUERIES_FROM)
    if source == QUERIES_FROM.options[0]:
        return smaller_view(opened, ask, options)
    with st.popover("Queries", icon=":material/edit_note:", key="queries_box"), st.container(width=BOX):
        table = _typed_queries() if source == QUERIES_FROM.options[1] else QUERIES_FILE.table(QUERIES_WORDS)
    if table is not None:
        lines = "\n".join(" ".join(each.split()) for each in table.sentences)
        queries = replace(options, values={**options.values, QUERY_LINES.key: lines})
        return (Notices(table.notices, "caption"), *smaller_view(opened, ask, queries))
    if source == QUERIES_FROM.options[1]:
        st.info("Write at least one query under Queries, one per line.", icon=":material/info:")
    else:
        wait_for_file("Queries")
    return ()


def _typed_queries() -> SentenceTable | None:
    if stored(QUERY_LINES.key) is None:
        store(QUERY_LINES.key, stored(QUERY.key) or QUERIES.get(str(stored(EXAMPLE.key)), next(iter(QUERIES.values()))))
    return typed_lines("Queries, one per line", QUERY_LINES.key, "One query per line")


VECTORS_FILE = ListFile("vectors", "Parquet, NPY, JSON lines or JSON file")


def outside_vectors_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """Vectors of a file, or made-up ones, and the recipe that makes them."""
    if options.choice(OUTSIDE_FROM) == OUTSIDE_FROM.options[0]:
        return outside_view(opened, ask, options)
    with st.popover("Vectors", icon=":material/upload_file:", key="vectors_box"), st.container(width=BOX):
        handed = VECTORS_FILE.handed(
            "A text and a list of numbers in each row (Parquet, JSON lines), or vectors alone (NPY, the JSON answer of "
            f"an embeddings API) of the sentences of this page in their order; at most {most_megabytes()} MB. It stays "
            "on this server."
        )
        prompts = str(st.text_area("Prompts to try, one a line", key=TRIED_PROMPTS.key, height=80)).splitlines()
    if handed is None:
        wait_for_file("Vectors")
        return ()
    file = vectors_of_file(*handed, options.texts)
    of_file = outside_options(file.texts, file.vectors, [each for each in prompts if each])
    return (Notices(file.notices), *outside_view(opened, ask, of_file))


SENTENCES, INPUT_FILE = "sentences", ListFile("sentence")
"""Session key of the typed list, and its file."""


def sentence_input() -> Options:
    """The sentences of this session, behind a button that opens their panel; the page ends here without a file."""
    if stored(VIEW) == LONG_TEXT:
        return long_input()
    if stored(VIEW) == THRESHOLD:
        return Options()  # its pairs have a button of their own
    table, refused = None, None
    with st.popover("Sentences", icon=":material/edit_note:", key="sentence_box"), st.container(width=BOX):
        try:
            table = _read()
        except BertvizError as error:
            refused = error
        if table is not None:
            count = counted(len(table.sentences), "sentence")
            st.caption(f"{count}. {escape_markdown(' '.join(table.notices))}")
    if refused is not None:
        raise refused
    if table is None:
        wait_for_file("Sentences")
        end_page()
    lines = [" ".join(text.split()) for text in (page_text(), page_pair() or "")]
    lines = [line for line in lines if line not in ("", DEFAULT_TEXT)]
    own = [line for line in lines if line not in table.sentences]
    if stored(SOURCE.key) == SOURCE.options[0] and lines:  # once added it stays, so that no control moves
        label, words = ("Add your text", "Add your texts")[len(own or lines) - 1], "\n".join(own)
        st.button(label, "sentence_own", words, _put_first, (words,), icon=":material/add:", disabled=not own)
    shown = next(view for view in VIEWS if view.title == stored(VIEW))
    if QUERY in shown.params and stored(QUERY.key) is None:
        store(QUERY.key, QUERIES.get(str(stored(EXAMPLE.key)), next(iter(QUERIES.values()))))
    return Options(table.sentences)


def _put_first(text: str) -> None:
    store(SENTENCES, f"{text}\n{stored(SENTENCES)}")


LONG, LONG_FILE = "long_text", ListFile("long", "Text file")
"""Session key of the typed long text, and its file."""


def long_input() -> Options:
    """The long text of this session, behind a button that opens its panel; the page ends here without a file."""
    with st.popover("Text", icon=":material/edit_note:", key="long_box"), st.container(width=BOX):
        if choice(LONG_FROM, LONG_FROM.label, LONG_FROM.options, label_visibility="collapsed") == LONG_FROM.options[1]:
            handed = LONG_FILE.handed(
                f"A text in UTF-8; at most {settings().max_characters:,} characters. It stays on this server."
            )
            text = None if handed is None else text_of_file(*handed)
        else:
            if stored(LONG) is None:
                store(LONG, LONG_EXAMPLE)
            text = within_upload(
                str(
                    st.text_area(
                        "Text",
                        key=LONG,
                        height=320,
                        persist_state="session",
                        label_visibility="collapsed",
                        placeholder="A text of several sentences",
                    )
                )
            )
    if text is None:
        wait_for_file("Text")
        end_page()
    if not text.strip():
        raise TextError("The text is empty. Write several sentences under Text.")
    if text == LONG_EXAMPLE:
        mark_example("a long text.", "Write your own under Text.")
    return Options((text,))


def _read() -> SentenceTable | None:
    """The sentences; None before an upload."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        from_file = choice(SOURCE, SOURCE.label, SOURCE.options, label_visibility="collapsed") == SOURCE.options[1]
        if not from_file:
            words = "Fills the box with a worked set."
            example = select(
                EXAMPLE, "Example", list(EXAMPLES), label_visibility="collapsed", on_change=_take_example, help=words
            )
    if from_file:
        return INPUT_FILE.table(
            "A table with its column names in the first row, or a text with one sentence per line; at most "
            f"{settings().max_sentences:,} sentences and {most_megabytes()} MB. Larger files: `python -m "
            "bertviz_core embed`. It stays on this server."
        )
    if stored(SENTENCES) is None:
        named = st.query_params.get(EXAMPLE.key, "")
        store(SENTENCES, EXAMPLES.get(named, next(iter(EXAMPLES.values())))[1])
    table = typed_lines("Sentences, one per line", SENTENCES, "One sentence per line")
    if str(stored(SENTENCES)) == EXAMPLES[example][1]:
        st.caption(EXAMPLES[example][0])
    if table is None:
        raise TextError("The list is empty. Write at least one sentence under Sentences, one per line.")
    return table


def _take_example() -> None:
    store(SENTENCES, EXAMPLES[str(stored(EXAMPLE.key))][1])


KEY = sentence_map_figure.chart


def map_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Every sentence as a point; selected sentences are listed."""
    yield from vectors_used(opened, ask, options)
    if len(options.texts) < 3:
        yield Text("A map needs at least three sentences.", "notice")
        return
    ask(sentence_vectors, vector_options(opened, options))  # first, as it may take long
    answer = ask(sentence_map, options)
    beside = (
        INPUT_FILE.current().frame
        if stored(SOURCE.key) == SOURCE.options[1]
        else pd.DataFrame(index=range(len(options.texts)))
    )
    columns = [str(each) for each in beside.columns]
    column = column_select("Colour", "colour_column", columns, "", "one colour") if columns else ""
    drawn = {**answer.drawn, "column": column, "values": _values(beside[column]) if column else None}
    spec, placed, vectors = sentence_map_figure.of(drawn), answer.result, answer.drawn["vectors"]
    theme = page_theme()
    chart(spec, KEY, selects=True)
    st.caption(variance_words(placed))
    shown = len(drawn_points(len(vectors.sentences)))
    if shown < len(vectors.sentences):
        st.caption(f"{shown:,} of the points are drawn, evenly over the list; a line around them lists all inside it.")
    chosen = selected_points(chosen_points(KEY), placed.points)
    if chosen:
        yield Text(f"**{counted(len(chosen), 'sentence')} chosen**")
        yield Table(_listed(options.texts, beside, chosen), "The chosen sentences", 240)
    elif theme.narrow:  # where a finger that is dragged over the figure scrolls the page
        st.caption("Tap a point for its sentence.")
    else:
        st.caption("Draw a line around points to list their sentences, or click one; double-click to clear.")
    download_row(spec, KEY, f"sentence map {made_by(vectors)}", spec.title, texts=vectors.sentences)
    folded_table(KEY, spec.frame, spec.title)
    words, code = MAP[placed.method]
    made = vector_code(opened, sentence_plan(opened, options), vectors.sentences)
    explained(KEY, words, f"{made}\n{code}")


def _values(column: pd.Series) -> list[Any]:
    """Values of a column: numbers where all are numbers and there are many, text otherwise."""
    numbers = pd.to_numeric(pd.Series(column.tolist(), dtype=object), errors="coerce")
    if numbers.notna().all() and numbers.nunique() > GROUPS:
        return [float(number) for number in numbers]
    return ["" if pd.isna(cell) else str(cell) for cell in column]


def _listed(sentences: tuple[str, ...], beside: pd.DataFrame, chosen: list[int]) -> pd.DataFrame:
    frame = pd.DataFrame({"number": [index + 1 for index in chosen]})
    frame["sentence"] = [sentences[index] for index in chosen]
    names: list[str] = []
    for column in beside.columns:
        names.append(free_name(str(column), {*frame.columns, *names}))
    return pd.concat([frame, beside.iloc[chosen].set_axis(names, axis=1).set_index(frame.index)], axis=1)


def selected_points(selection: Mapping[str, Any], points: Float[np.ndarray, "sentences 2"]) -> list[int]:
    """Return the indices of all points inside a selection, also of those that are not drawn."""
    inside = np.zeros(len(points), dtype=bool)
    for lasso in selection.get("lasso", ()):
        inside |= inside_polygon(points, np.array([lasso["x"], lasso["y"]], dtype=np.float64).T)
    for box in selection.get("box", ()):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = points.T
        inside |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    if not (selection.get("lasso") or selection.get("box")):
        inside[[place for place in map(_place, selection.get("points", ())) if 0 <= place < len(points)]] = True
    return [int(place) for place in np.flatnonzero(inside)]


def _place(point: Any) -> int:
    """A point's index in the list, from its custom data."""
    place = point.get("customdata")
    return int(place[0] if isinstance(place, list) else place) if place is not None else -1
