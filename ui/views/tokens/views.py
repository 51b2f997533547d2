"""The upper half of the tokens page: the text in pieces, their table, and the neighbours of one of them."""

import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.tokens import nearest_figure
from bertviz_core.models.sources import ModelSource
from bertviz_core.text import escape_controls, shortened
from bertviz_core.trace.results import Tokens
from ui.cache import ledgers, models
from ui.components.token_text import token_text
from ui.views.tokens import controls
from ui.views.tokens.pieces import runs
from ui.widgets import controls as widgets_controls
from ui.widgets.figure_block import csv_text, figure_block, folded
from ui.widgets.formatting import count, escape_markdown

SHOWN_IN_CODE = 120
ROLES = {
    "cls": "begins the input; its last vector stands for the whole text in classification.",
    "sep": "ends each text, and so parts the first from the second.",
    "pad": "fills a shorter text of a batch up to the longest; the attention mask hides it.",
    "mask": "hides a token that the model is to restore.",
    "bos": "begins the input.",
    "eos": "ends the input.",
    "unk": "stands for a piece that the vocabulary does not have; all such pieces look alike to the model.",
}


def tensor_view(name: str, tokens: Tokens) -> None:
    """The ids as the model gets them, and why they have a batch axis."""
    count = len(tokens)
    st.header("The input tensor", anchor=False)
    with st.container(key="halves_tensor"):
        words, numbers = st.columns([1, 1], gap="medium")
    with words:
        st.markdown(
            f"A text is a row of ids, shape `({count},)`. A model reads a **batch**, several texts at once, so its "
            f"first axis counts texts: `({count},)` becomes `(1, {count})`."
        )
        for line in (*_special_lines(name, tokens), *_type_lines(tokens)):
            st.markdown(f"- {line}")
    with numbers:
        st.code(tensor_text(tokens), language=None, wrap_lines=True, height=260 if count > 64 else "content")
        st.code(reproduction(ledgers.source(name), tokens), language="python", wrap_lines=True)


def tensor_text(tokens: Tokens) -> str:
    """The input as torch would print it, without cutting it short."""
    rows = {"input_ids": tokens.input_ids, "token_type_ids": tokens.token_type_ids, **tokens.other_inputs}
    return "\n".join(
        f"{name}, shape (1, {len(tokens)}):\n[[{', '.join(map(str, ids.tolist()))}]]"
        for name, ids in rows.items()
        if ids is not None
    )


def reproduction(source: ModelSource, tokens: Tokens) -> str:
    """Three lines of Python that give the same ids."""
    where = source.hub_id or str(source.folder or source.name)
    if source.kind == "bundled":
        where = f"sentence-transformers/{source.name}"
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    short = sum(map(len, texts)) <= SHOWN_IN_CODE
    given = ", ".join(map(repr, texts)) if short else ", ".join(("text", "pair")[: len(texts)])
    cut = f", truncation=True, max_length={tokens.limit}" if any(tokens.tokens_cut) else ""
    return (
        "from transformers import AutoTokenizer\n"
        f"tokenizer = AutoTokenizer.from_pretrained({where!r})\n"
        f'print(tokenizer({given}, return_tensors="pt"{cut}).input_ids)   # shape (1, {len(tokens)})'
    )


def _special_lines(name: str, tokens: Tokens) -> list[str]:
    """One sentence for each special token that is there, under the model's own spelling."""
    roles = models.special_tokens(name)
    present = zip(tokens.tokens, (tokens.special | tokens.unknown).tolist(), strict=True)
    marked_tokens = dict.fromkeys(token for token, marked in present if marked)
    return [
        f"**{escape_markdown(token)}** {ROLES[roles[token]]}" for token in marked_tokens if roles.get(token) in ROLES
    ]


def _type_lines(tokens: Tokens) -> list[str]:
    """What the token types say, or that the family has none where a pair would need them."""
    if tokens.token_type_ids is not None:
        types = tokens.token_type_ids.tolist()
        counts = ", ".join(f"{types.count(each):,} of type {each}" for each in sorted(set(types)))
        told = "the two texts apart" if len(set(types)) > 1 else "a first from a second text; here is one kind only"
        return [f"**Token types** tell {told}: {counts}."]
    if tokens.pair is not None:
        return ["**No token types**: this model tells the texts apart by the separator alone."]
    return []


@st.fragment
def second_view(name: str, tokens: Tokens, text: str, pair: str | None) -> None:
    """The same text under a second tokenizer, side by side."""
    st.header("The same text under a second tokenizer", anchor=False)
    here = models.tokenizer_names()
    other = controls.tokenizer_select(here, name)
    if other is None:
        st.caption(
            f"The pieces of {escape_markdown(name)} and of the second tokenizer will stand here side by side. No "
            f"other tokenizer "
            "is on this machine yet: put a model into the models folder, or name one."
        )
        return
    try:
        second = models.tokens(other, text, pair)
    except BertvizError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return
    with st.container(key="halves_second"):
        places = st.columns([1, 1], gap="medium")
    for place, each, found in zip(places, (name, other), (tokens, second), strict=True):
        with place:
            st.markdown(f"**{escape_markdown(each)}**: {_counts(found)}")
            token_text(runs(found, "token"), f"second_{places.index(place)}", f"The text in tokens of {each}")
    for notice in second.notices:
        st.warning(f"{escape_markdown(other)}: {escape_markdown(notice)}")
    same = set(tokens.tokens) & set(second.tokens)
    st.caption(f"{len(same):,} spellings are in both. An id means something only to the model it belongs to.")


def _counts(tokens: Tokens) -> str:
    own = int((~tokens.special).sum())
    unknown = int(tokens.unknown.sum())
    characters = len(tokens.text) + len(tokens.pair or "")
    density = f", {characters / own:.1f} characters per piece" if own and not any(tokens.tokens_cut) else ""
    return f"{len(tokens):,} tokens, {unknown:,} unknown{density}"


TEXT_KEY, CHART_KEY = "tokens_text", "tokens_neighbours"
MARKS_PIXELS = 740
"""Beside the choice where there is room, else below it."""
MARKS = (
    "stands below each piece. Words alternate in shade; a dashed edge and ## continue a word; *italic* is a special "
    "token; a wavy line is unknown; grey is no token. Click a piece, or use Tab, arrow keys and Enter."
)


def sizes(tokens: Tokens) -> None:
    """How much was read."""
    own = int((~tokens.special).sum())
    words = None
    if tokens.word_ids is not None:
        numbered = zip(tokens.sequence, tokens.word_ids, strict=True)
        words = len({place for place in numbered if place[1] is not None})
    with st.container(horizontal=True):
        st.metric("Tokens", count(len(tokens)), help="Rows that the model reads, special tokens included.")
        st.metric("Token limit", count(tokens.limit), help=f"What sets this: {escape_markdown(tokens.limit_reason)}.")
        st.metric("Words", count(words), help="What the tokenizer takes for words before it cuts them into pieces.")
        st.metric("Pieces", count(own), help="Tokens of the text itself.")
        st.metric("Special", count(int(tokens.special.sum())), help="Tokens that stand for no word.")
        st.metric("Unknown", count(int(tokens.unknown.sum())), help="Pieces that the vocabulary does not have.")
        st.metric("Cut off", count(sum(tokens.tokens_cut)), help="Tokens at the end that do not fit the model.")
        st.metric("Characters", count(len(tokens.text) + len(tokens.pair or "")), help="Of the text as it was given.")


@st.fragment
def cut_view(name: str, tokens: Tokens) -> None:
    """The text in pieces, the table of its tokens, and the neighbours of the chosen one."""
    place = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        below = widgets_controls.choice(
            "Below each piece", controls.BELOW, "below", label_visibility="collapsed", width="content"
        )
        st.caption(MARKS, width=MARKS_PIXELS)
    with st.container(key="halves_tokens"):
        rows, near = st.columns([1, 1], gap="medium")
    with near:
        chosen = controls.token_position(tokens)
    with place:
        token_text(runs(tokens, below), TEXT_KEY, "The text in tokens", chosen, lambda: controls.take_token(TEXT_KEY))
    with rows:
        token_table(name, tokens)
    with near:
        neighbours(name, tokens, chosen)


def token_table(name: str, tokens: Tokens) -> None:
    """Every token with all that is known about it."""
    frame = tokens_frame(tokens)
    ids = {column: st.column_config.NumberColumn(format="%d") for column in ("position", "id", "word", "type id")}
    shown = frame.assign(token=[shortened(escape_controls(token), 60) for token in frame["token"]])
    st.dataframe(
        shown,
        hide_index=True,
        height=min(38 + 35 * len(frame), 480),
        alt="Every token of the text",
        column_config=ids,
        placeholder="",
    )
    st.download_button(
        "CSV of this table",
        lambda: csv_text(frame),
        f"tokens-{name.replace('/', '-')}.csv",
        "text/csv",
        key="tokens_table_csv",
        on_click="ignore",
    )


def tokens_frame(tokens: Tokens) -> pd.DataFrame:
    """The rows of the token table; columns that the tokenizer says nothing about are left out."""
    flags = zip(tokens.special.tolist(), tokens.unknown.tolist(), strict=True)
    columns: dict[str, object] = {
        "position": range(len(tokens)),
        "token": list(tokens.tokens),
        "id": tokens.input_ids,
        "vocabulary": ["special" if special else "unknown" if unknown else "known" for special, unknown in flags],
    }
    if tokens.word_ids is not None:
        columns["word"] = pd.array(list(tokens.word_ids), dtype="Int64")
    if tokens.offsets is not None:
        columns["characters"] = ["" if span is None else f"{span[0]}:{span[1]}" for span in tokens.offsets]
    if tokens.token_type_ids is not None:
        columns["type id"] = tokens.token_type_ids
    if tokens.pair is not None:
        columns["text"] = ["" if place is None else ("first", "second")[place] for place in tokens.sequence]
    return pd.DataFrame(columns)


def neighbours(name: str, tokens: Tokens, position: int) -> None:
    """The nearest rows of the embedding table to one token's row, as bars and table."""
    token, token_id = tokens.tokens[position], int(tokens.input_ids[position])
    try:
        nearest = models.nearest(name, token_id)
        spelled = models.spelled(name, nearest.ids.tolist())
    except BertvizError as error:
        st.info(escape_markdown(f"The neighbours of a token need the model's weights. {error}"))
        return
    short = shortened(escape_controls(token), 24)
    frame = pd.DataFrame(
        {"token": list(spelled), "id": nearest.ids, "cosine": nearest.cosine.round(4), "norm": nearest.norms.round(4)}
    )
    spec = nearest_figure(nearest, spelled, token, name)
    words = figure_block(spec, f"nearest to {short} {name}", frame, numbers="in files", texts=tokens)
    words.markdown(
        f"Row {token_id} of the embedding table, **{escape_markdown(short)}**, has the norm **{nearest.norm:.4f}**."
    )
    with folded("The neighbours as a table", f"{CHART_KEY}_table"):
        form = {"id": "%d", "cosine": "%.4f", "norm": "%.4f"}
        config = {column: st.column_config.NumberColumn(format=each) for column, each in form.items()}
        shown = frame.assign(token=[shortened(escape_controls(each), 60) for each in spelled])
        st.dataframe(shown, hide_index=True, alt="Nearest rows with cosine and norm", column_config=config)
    st.caption(
        "Static rows: before any layer, and without any context. Near rows were used alike in training; that is not "
        "the same as meaning the same."
    )
