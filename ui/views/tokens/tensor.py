"""The part of the tokens page that shows the input tensors of the model."""

import streamlit as st

from bertviz_core.models.sources import ModelSource
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from ui.cache import ledgers, models, sources

SHOWN_IN_CODE = 120
ROLES = {
    "cls": "begins the input; in models such as BERT its last vector stands for the whole text in classification.",
    "sep": "ends each text and so separates the first from the second.",
    "pad": "fills a shorter text of a batch up to the longest; the attention mask hides it.",
    "mask": "hides a token that the model is to restore.",
    "bos": "begins the input.",
    "eos": "ends the input.",
    "unk": "stands for a piece that the vocabulary does not have; all such pieces look alike to the model.",
}
UNREAD_TYPES = {"no": "does not read them", "1": "has a single type and gives it to every token"}
"""Token types of a model -> why those of the tokenizer do not tell two texts apart."""


def tensor_view(name: str, tokens: Tokens) -> None:
    """The input ids of the model, and why they have a batch axis."""
    count = len(tokens)
    st.header("The input tensor", anchor=False)
    with st.container(key="halves_tensor"):
        words, numbers = st.columns([1, 1], gap="medium")
    with words:
        st.markdown(
            f"A text is a row of ids, shape `({count},)`. A model reads a **batch**, several texts at once, so its "
            f"first axis counts texts: `({count},)` becomes `(1, {count})`."
        )
        for line in (*_special_lines(name, tokens), *_type_lines(name, tokens)):
            st.markdown(f"- {line}")
    with numbers:
        st.code(tensor_text(tokens), language=None, wrap_lines=True, height=260 if count > 64 else "content")
        st.code(reproduction(sources.source(name), tokens), language="python", wrap_lines=True)


def tensor_text(tokens: Tokens) -> str:
    """The input as torch prints it, but never abbreviated."""
    rows = {"input_ids": tokens.input_ids, "token_type_ids": tokens.token_type_ids, **tokens.other_inputs}
    return "\n".join(
        f"{name}, shape (1, {len(tokens)}):\n[[{', '.join(map(str, ids.tolist()))}]]"
        for name, ids in rows.items()
        if ids is not None
    )


def reproduction(source: ModelSource, tokens: Tokens) -> str:
    """Three lines of Python that give the same ids."""
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    short = sum(map(len, texts)) <= SHOWN_IN_CODE
    arguments = ", ".join(map(repr, texts)) if short else ", ".join(("text", "pair")[: len(texts)])
    cut = f", truncation=True, max_length={tokens.limit}" if any(tokens.tokens_cut) else ""
    return (
        f"from transformers import {source.tokenizer_class}\n"
        f"tokenizer = {source.tokenizer_class}.from_pretrained({source.pretrained_name!r})\n"
        f'print(tokenizer({arguments}, return_tensors="pt"{cut}).input_ids)   # shape (1, {len(tokens)})'
    )


def nearest_code(source: ModelSource, token_id: int) -> str:
    """Code for the rows of the embedding table nearest to one of them, with their cosines."""
    return (
        "import torch\n"
        f"from transformers import AutoModel, {source.tokenizer_class}\n"
        f"tokenizer = {source.tokenizer_class}.from_pretrained({source.pretrained_name!r})\n"
        f"model = AutoModel.from_pretrained({source.pretrained_name!r})\n"
        "E = model.get_input_embeddings().weight.detach()   # (vocab, width)\n"
        f"token_id = {token_id}\n"
        "print(E[token_id].norm())\n"
        "cosines = torch.cosine_similarity(E, E[token_id][None])\n"
        "cosines[token_id] = -1   # the row itself is left out\n"
        "nearest = cosines.topk(10)\n"
        "print(tokenizer.convert_ids_to_tokens(nearest.indices.tolist()), nearest.values)"
    )


def _special_lines(name: str, tokens: Tokens) -> list[str]:
    """One sentence for each special token of the input, in the model's own spelling."""
    roles = models.special_tokens(name)
    present = zip(tokens.tokens, (tokens.special | tokens.unknown).tolist(), strict=True)
    marked_tokens = dict.fromkeys(token for token, marked in present if marked)
    return [
        f"**{escape_markdown(token)}** {ROLES[roles[token]]}" for token in marked_tokens if roles.get(token) in ROLES
    ]


def _type_lines(name: str, tokens: Tokens) -> list[str]:
    """Explain the token types, or that the model reads none, if a pair needs them."""
    known = {each.name: each.answer for each in ledgers.architecture(name).capabilities}.get("Token types")
    if tokens.token_type_ids is not None:
        types = tokens.token_type_ids.tolist()
        counts = ", ".join(f"{types.count(each):,} of type {each}" for each in sorted(set(types)))
        several = len(set(types)) > 1
        if known in UNREAD_TYPES:
            return [f"**Token types** come from the tokenizer ({counts}), but this model {UNREAD_TYPES[known]}."]
        what = "distinguish the two texts" if several else "distinguish a first from a second text; here there is one"
        return [f"**Token types** {what}: {counts}."]
    if tokens.pair is not None:
        return ["**No token types**: this model distinguishes the texts by the separator only."]
    return []
