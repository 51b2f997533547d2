"""The upper half of the tokens page: the text in pieces, their table, and the neighbours of one of them."""

import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.results.trace import Tokens
from bertviz_core.visible import shortened, visible
from figures.token_pictures import nearest_picture
from ui import controls, models, token_controls
from ui.components.token_text import token_text
from ui.errors import plain
from ui.export import chart, csv_text, download_row, folded
from ui.text import count
from ui.token_pieces import runs

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
        st.metric("At most", count(tokens.limit), help=f"What sets this: {plain(tokens.limit_reason)}.")
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
        below = controls.choice(
            "Below each piece", token_controls.BELOW, "below", label_visibility="collapsed", width="content"
        )
        st.caption(MARKS, width=MARKS_PIXELS)
    with st.container(key="halves_tokens"):
        rows, near = st.columns([1, 1], gap="medium")
    with near:
        chosen = token_controls.token_position(tokens)
    with place:
        token_text(
            runs(tokens, below), TEXT_KEY, "The text in tokens", chosen, lambda: token_controls.take_token(TEXT_KEY)
        )
    with rows:
        token_table(name, tokens)
    with near:
        neighbours(name, tokens, chosen)


def token_table(name: str, tokens: Tokens) -> None:
    """Every token with all that is known about it."""
    frame = tokens_frame(tokens)
    ids = {column: st.column_config.NumberColumn(format="%d") for column in ("position", "id", "word", "type id")}
    shown = frame.assign(token=[shortened(visible(token), 60) for token in frame["token"]])
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
        found = models.nearest(name, token_id)
        spelled = models.spelled(name, found.ids.tolist())
    except BertvizError as error:
        st.info(plain(f"The neighbours of a token need the model's weights. {error}"))
        return
    short = shortened(visible(token), 24)
    picture = nearest_picture(found, spelled, token, name)
    title = picture.title
    chart(picture, CHART_KEY)
    st.markdown(f"Row {token_id} of the embedding table, **{plain(short)}**, has the norm **{found.norm:.4f}**.")
    frame = pd.DataFrame(
        {"token": list(spelled), "id": found.ids, "cosine": found.cosine.round(4), "norm": found.norms.round(4)}
    )
    download_row(picture, CHART_KEY, f"nearest to {short} {name}", f"{title}. Cosines of static rows.", frame, tokens)
    with folded("The neighbours as a table", f"{CHART_KEY}_table"):
        form = {"id": "%d", "cosine": "%.4f", "norm": "%.4f"}
        config = {column: st.column_config.NumberColumn(format=each) for column, each in form.items()}
        shown = frame.assign(token=[shortened(visible(each), 60) for each in spelled])
        st.dataframe(shown, hide_index=True, alt="Nearest rows with cosine and norm", column_config=config)
    st.caption(
        "Static rows: before any layer, and without any context. Near rows were used alike in training; that is not "
        "the same as meaning the same."
    )
