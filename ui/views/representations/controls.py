"""Controls and texts of the page Representations."""

from functools import partial

import streamlit as st

from bertviz_core.hidden_states.embeddings import NORMS, POSITION_TABLES, part_path
from bertviz_core.hidden_states.geometry import first_tokens, shared_word
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.report.model_lines import model_lines
from bertviz_core.questions.texts.hidden_states import FIRST, MOST_PATHS, TOKENS, WIDTH, WINDOW
from bertviz_core.questions.texts.hidden_states import PICKED as PICKED_TOKENS
from bertviz_core.trace.results import Tokens, Trace
from ui.address.navigation import source_of, write, write_brought
from ui.address.registry import param, whole
from ui.address.widgets import BOUND, choice, keep_among, keep_span, level, span
from ui.cache.shared_model import SharedModel
from ui.session import FIRST_TEXT, SECOND_TEXT, WORD
from ui.widgets.text_fields import pair, text, token_names
from ui.widgets.view_and_layer import state_select

WORD_KEYS = ("word", "first_text", "second_text")
FILLED_IN = "word_filled_in"
"""Session key: the word and the sentences that were filled in for the reader."""
MOST_TOKENS = 512
PICKED = PICKED_TOKENS.key
VECTORS = param("vectors_of")


def pooler_chosen(trace: Trace) -> bool:
    """Whether [CLS] and the pooler are shown instead of the values of all tokens; no widget without a pooler."""
    if trace.pooler_output is None:
        return False
    return choice(VECTORS, "Show", label_visibility="collapsed") == VECTORS.options[1]


def layer_slider(layers: int) -> int:
    """An entry of the hidden states: 0 is the embedding output, the last is the model's output."""
    return state_select(layers, "The embeddings, or the output of this layer.")


def window_select(sizes: list[int]) -> int:
    """How many dimensions are drawn."""
    first = WINDOW if WINDOW in sizes else sizes[0]
    keep_among(WIDTH.key, sizes, sizes[0])
    stored = st.session_state.get(WIDTH.key, first)
    write_brought(WIDTH.key, None if stored == first else str(stored))
    chosen = st.selectbox("Dimensions shown", sizes, sizes.index(first), key=WIDTH.key, width=160, **BOUND)
    return int(chosen or sizes[0])


def first_dimension(hidden: int, window: int) -> int:
    """Where the window of dimensions begins."""
    return level(FIRST, "First dimension", hidden - window, 0, least=0, width=320)


def token_range(count: int, shown: int) -> tuple[int, int]:
    """First and last position of the tokens drawn; no widget where all of them are drawn."""
    if count <= 2:
        return 0, count - 1
    if count <= shown:
        keep_span(TOKENS.key, count)
        return 0, count - 1
    help_text = f"Positions from and to, at most {MOST_TOKENS} at once."
    first, last = span(TOKENS, "Tokens", count, (0, shown - 1), help=help_text, width=320)
    if last - first >= MOST_TOKENS:
        last = first + MOST_TOKENS - 1
        st.caption(f"Showing tokens {first} to {last}; at most {MOST_TOKENS} are drawn at once.")
    return first, last


def picked_tokens(tokens: Tokens) -> list[int]:
    """Positions of the tokens whose paths are drawn; the address contains positions only."""
    own, of = first_tokens(tokens), (tokens.text, tokens.pair)
    match source_of(PICKED, of):
        case "address":
            st.session_state[PICKED] = _positions(st.query_params[PICKED], len(tokens)) or own
        case "default" | "elsewhere":
            st.session_state[PICKED] = own
    names = token_names(tokens)
    words = f"Whose paths are drawn, up to {MOST_PATHS}."
    picked = st.multiselect(
        "Tokens",
        range(len(tokens)),
        format_func=names.__getitem__,
        key=PICKED,
        max_selections=MOST_PATHS,
        help=words,
        persist_state="session",
    )
    places = sorted(int(place) for place in picked)
    write(PICKED, ".".join(map(str, places)) if places and places != own else None, of)
    return places


def _positions(written: str, count: int) -> list[int]:
    """Parse positions such as 1.4.5; empty for anything else."""
    places = [whole(part) for part in written.split(".")]
    valid = {place for place in places if place is not None}
    return sorted(place for place in valid if place < count) if None not in places and len(places) <= MOST_PATHS else []


def word_inputs() -> tuple[str, str, str]:
    """A word and two sentences that contain it: the reader's own texts, if they have a word in common.

    They follow the texts of the sidebar until the reader changes one of the three.
    """
    first_text, second_text = text(), pair() or ""
    shared = shared_word(first_text, second_text)
    usual = (WORD, FIRST_TEXT, SECOND_TEXT)
    own = (shared, first_text, second_text) if shared else usual
    now = tuple(st.session_state.get(key) for key in WORD_KEYS)
    if now in ((None, None, None), st.session_state.get(FILLED_IN)):
        st.session_state.update(zip(WORD_KEYS, own, strict=True))
        st.session_state[FILLED_IN] = own
    for key, default in zip(WORD_KEYS, usual, strict=True):
        st.session_state.setdefault(key, default)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = st.text_input("Word", key="word", persist_state="session", width=160)
        first = st.text_input("Sentence 1", key="first_text", persist_state="session")
        second = st.text_input("Sentence 2", key="second_text", persist_state="session")
    return (word or "").strip() or WORD, first or FIRST_TEXT, second or SECOND_TEXT


RUN = (
    "with torch.inference_mode():\n"
    "    outputs = model(**inputs, output_hidden_states=True)\n"
    "h = outputs.hidden_states\n"
)
VALUES_CODE = "print(h[{entry}][0, :, {first}:{stop}])   # {name}: {shape}\n"
CHANGE_CODE = {
    "change": "print(1 - torch.cosine_similarity(torch.stack(h[1:])[:, 0], torch.stack(h[:-1])[:, 0], dim=-1))\n",
    "input": "print(torch.cosine_similarity(torch.stack(h)[:, 0], h[0], dim=-1))\n",
    "length": "print(torch.stack(h)[:, 0].norm(dim=-1))\n",
}
SIMILARITY_CODE = (
    "v = torch.nn.functional.normalize(h[{entry}][0, {first}:{stop}], dim=-1)\nprint(v @ v.T)   # {name}\n"
)
PATHS_CODE = (
    "picked = {picked}\n"
    "x = torch.stack(h)[:, 0, picked].flatten(0, 1).double()\n"
    "x = x - x.mean(dim=0)\n"
    "_, size, directions = torch.linalg.svd(x, full_matrices=False)\n"
    "directions = directions[:2]\n"
    "peak = directions.gather(1, directions.abs().argmax(dim=1, keepdim=True))\n"
    "print(x @ (directions * peak.sign()).T)   # {states} rows of {count} tokens; two components\n"
    "print((size**2 / (size**2).sum())[:2])    # their shares of the variance\n"
)
POOLER_CODE = (
    "cls = outputs.last_hidden_state[:, 0]\n"
    "with torch.inference_mode():\n"
    "    print(torch.tanh(model.pooler.dense(cls)))   # equals outputs.pooler_output\n"
)
WORD_CODE = (
    "with torch.inference_mode():\n"
    "    first, second = (\n"
    "        torch.stack(model(**tokenizer(text, {input_arguments}), output_hidden_states=True).hidden_states)[:, 0]\n"
    "        for text in ({first!r}, {second!r})\n"
    "    )\n"
    "a, b = first[:, {first_positions}].mean(dim=1), second[:, {second_positions}].mean(dim=1)\n"
    "print(torch.cosine_similarity(a, b, dim=-1))\n"
)


def run_lines(trace: Trace) -> str:
    """Lines that run the model on the text; the lines of a view follow them."""
    return f"{model_lines(SharedModel(trace.model), trace.tokens)}{RUN}"


def input_code(loaded: LoadedModel, parts: EmbeddingSum, first: int, stop: int) -> str:
    """Lines for the norms of the vectors that make up the input, with this model's names of its embedding tables.

    For a family that does more than add rows and normalise them, only the output of the block is printed.
    """
    path = partial(part_path, loaded.model)
    if parts.other is not None or not parts.exact or parts.output.shape != parts.word.shape:
        return f"print(h[0][0, {first}:{stop}].norm(dim=-1))   # what the embedding block hands to layer 0\n"
    lines = ["with torch.inference_mode():", '    word = model.get_input_embeddings()(inputs["input_ids"][0])']
    added = ["word"]
    if parts.position is not None and parts.position_ids is not None:
        ids = parts.position_ids.tolist()
        written = f"range({len(ids)})" if ids == list(range(len(ids))) else str(ids)
        lines.append(f"    position = model.get_submodule({path(POSITION_TABLES)!r}).weight[list({written})]")
        added.append("position")
    if parts.token_type is not None:
        table = f"model.get_submodule({path((family(loaded.model_type).type_table,))!r}).weight"
        lines.append('    types = inputs.get("token_type_ids", torch.zeros_like(inputs["input_ids"]))[0]')
        lines.append(f"    token_type = {table}[types]")
        added.append("token_type")
    lines.append(f"    total = {' + '.join(added)}")
    norm = path(NORMS)
    shown = [*added, "total"] if len(added) > 1 else added
    if norm:
        lines.append(f"    normalised = model.get_submodule({norm!r})(total)")
        shown = [*shown, "normalised"]
    lines.append(f"for vectors in ({', '.join(shown)},):")
    lines.append(f"    print(vectors[{first}:{stop}].norm(dim=-1))   # the last equals h[0][0]")
    return "\n".join([*lines, ""])


VALUES_WORDS = (
    "`hidden_states[0]` is the output of the embedding block (“embeddings”); `hidden_states[i]` is what layer i - 1 "
    "hands on (“after layer i - 1”). The scale is symmetric around 0, so that the colour of the paper is 0. A large "
    "value is "
    "not by itself important: a few dimensions are large in nearly every token."
)
COMPARED = (
    "Both models are run on the text. For every token and every entry of the hidden states the cell is the cosine of "
    "its two vectors, `a · b / (|a| |b|)`: 1 where they point the same way. Tokens are the same where they cover the "
    "same characters, whatever the vocabularies. Two models that were not trained from one start have no reason to "
    "agree in their dimensions, so their cosines are near 0 even where they mean the same; *Layers over many texts* "
    "on the page Checkpoint compares such models by CKA."
)
CHANGE_WORDS = (
    "The turn in a layer is the cosine distance, 1 - cosine, between a token's vectors before and after it: 0 where "
    "the layer only lengthens or shortens the vector, 1 at a right angle. It is small partly because of the residual "
    "connection, which hands the vector on. Length is the Euclidean norm."
)
SIMILARITY_WORDS = (
    "Every cell is the cosine of two tokens' vectors in the hidden state that the title names; the diagonal is 1. "
    "Vectors of one text often point into one narrow cone, so that all cosines are high: compare cells with each other."
)
PATHS_WORDS = (
    "One principal component analysis over the vectors of the chosen tokens in all hidden states together, so that all "
    "layers share a plane, both axes of it in one scale. Nearness in the plane is not "
    "nearness in the model where the share of variance is small."
)
INPUT_WORDS = (
    "Each token's id, position and type pick a row of their tables; the rows are added number by number and the sum is "
    "normalised, except in families that begin each layer with a norm instead, such as GPT-2 and T5. Families with "
    "rotary or relative positions add no position here."
)
POOLER_WORDS = (
    "The pooler is a linear layer and tanh on the first token's last vector, trained with next-sentence prediction. In "
    "a model that was tuned with another pooling its output means little: the mean of the token vectors may serve "
    "better."
)
WORD_WORDS = (
    "The row of the word table is the same in every text: cosine 1. The embeddings add the position, and each layer "
    "mixes in the context, so that the two vectors part. A word of several pieces is the mean of its pieces. The word "
    "is found by its characters in the text, so punctuation behind it does not count."
)
