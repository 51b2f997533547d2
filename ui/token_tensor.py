"""The lower half of the tokens page: the input tensor, what special tokens are for, and a second tokenizer."""

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.results.trace import Tokens
from bertviz_core.sources import ModelSource
from ui import cache, models, token_controls
from ui.components.token_text import token_text
from ui.errors import plain
from ui.token_pieces import runs

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
        st.code(reproduction(cache.source(name), tokens), language="python", wrap_lines=True)


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
    found = dict.fromkeys(token for token, marked in present if marked)
    return [f"**{plain(token)}** {ROLES[roles[token]]}" for token in found if roles.get(token) in ROLES]


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
    other = token_controls.tokenizer_select(here, name)
    if other is None:
        st.caption(
            f"The pieces of {plain(name)} and of the second tokenizer will stand here side by side. No other tokenizer "
            "is on this machine yet: put a model into the models folder, or name one."
        )
        return
    try:
        second = models.tokens(other, text, pair)
    except BertvizError as error:
        st.warning(plain(str(error)), icon=":material/block:")
        return
    with st.container(key="halves_second"):
        places = st.columns([1, 1], gap="medium")
    for place, each, found in zip(places, (name, other), (tokens, second), strict=True):
        with place:
            st.markdown(f"**{plain(each)}**: {_counts(found)}")
            token_text(runs(found, "token"), f"second_{places.index(place)}", f"The text in tokens of {each}")
    for notice in second.notices:
        st.warning(f"{plain(other)}: {plain(notice)}")
    same = set(tokens.tokens) & set(second.tokens)
    st.caption(f"{len(same):,} spellings are in both. An id means something only to the model it belongs to.")


def _counts(tokens: Tokens) -> str:
    own = int((~tokens.special).sum())
    unknown = int(tokens.unknown.sum())
    characters = len(tokens.text) + len(tokens.pair or "")
    density = f", {characters / own:.1f} characters per piece" if own and not any(tokens.tokens_cut) else ""
    return f"{len(tokens):,} tokens, {unknown:,} unknown{density}"
