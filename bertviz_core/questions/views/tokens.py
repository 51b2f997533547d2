"""The page Tokens: the text cut into tokens, the neighbours of one of them, the input tensor, a second tokenizer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.tokens import DRAWN, SPELLED, nearest_figure, tokenizers_figure, tokens_figure, tokens_frame
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.models.architecture import architecture
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.model_lines import base_class, static_lines
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.questions.texts.tokens import (
    BELOW_TOKENS,
    TOKEN,
    TOKENIZER,
    cut_text,
    nearest_embeddings,
    rewritten,
    second_tokenizer,
    tokens,
)
from bertviz_core.questions.view import (
    Ask,
    Click,
    Code,
    Columns,
    Figure,
    Metric,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.text import count, counted, escape_controls, escape_markdown, shortened
from bertviz_core.trace.pieces import REFERENCE_TOKENIZERS
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import PADDING_ROW

SHOWN_IN_CODE = 120
"""Most characters of texts that are written out in the lines of Python."""
LONG = 64
"""Number of tokens above which the input tensor is scrolled."""
MARKS = (
    f"{SPELLED} Neighbouring words differ in shade; pieces of one word touch. A small mark in front is part of the "
    "vocabulary's spelling: ## continues a word, ▁ and Ġ stand for a space. *Italic*: special token. Dotted edge, "
    "underlined: not in the vocabulary. Grey: characters that become no token. Choose a token to see its neighbours "
    "below."
)
FROM_THE_RIGHT = " Read from right to left, as the text is written."
HOW = (
    "The tokenizer normalises the text, splits it into words and cuts every word into pieces of its vocabulary, from "
    "the left the longest that is there (WordPiece) or by merges learnt from counts (BPE). Each piece is replaced by "
    "its row number, the id; special tokens are added. A token's static embedding is that row `w` of the table "
    "`E`, of shape `(vocab, width)`; its norm is `‖w‖`, and neighbours are the rows `v` of largest cosine "
    "`w·v / (‖w‖ ‖v‖)`, the row itself left out."
)
NEAR_IS = (
    "Tokens that are near were used alike in training, which is not the same as meaning the same. How alike the "
    "tokens of your text are in their context: Representations, Token similarity."
)
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
IDS = {"position": "%d", "id": "%d", "word": "%d", "type id": "%d"}


def about_tokens(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """How many tokens the text has; what is cut off."""
    answer = ask(tokens, options)
    return token_counts(answer.result), [Notices(answer.notices)]


def tokens_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The tokens of the text, the input tensor, and the text under a second tokenizer."""
    read = ask(tokens, options).result
    yield Section((BELOW_TOKENS, TOKEN), cut_view)
    shape = len(read)
    yield Text("The input tensor", "heading")
    batch = (
        f"A text is a row of ids, shape `({shape},)`. A model reads a **batch**, several texts at once, so its "
        f"first axis counts texts: `({shape},)` becomes `(1, {shape})`."
    )
    lines = [f"- {line}" for line in _type_lines(opened, ask, read)]
    tensor = Code(tensor_text(read), height=260 if shape > LONG else "content")
    code = Code(tokenizer_lines(opened.source, read), "python")
    yield Columns("tensor", [Text(line) for line in (batch, *lines)], [tensor, code])
    yield Text("The same text under a second tokenizer", "heading")
    yield Section((TOKENIZER,), second_view)


def cut_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The tokens of the text, their table, and the neighbours of the selected one."""
    answer, read = ask(cut_text, options), ask(tokens, options).result
    pieces, position = answer.result, int(answer.drawn["position"])
    more = f"The first {DRAWN:,} of {len(pieces):,} tokens are drawn; the table has all of them."
    below = [MARKS + FROM_THE_RIGHT * pieces.right_to_left, *([more] if len(pieces) > DRAWN else [])]
    about = " ".join(filter(None, [escape_markdown(rewritten(pieces)), *_special_lines(opened, read)]))
    yield Figure.of(
        tokens_figure,
        answer,
        f"tokens of the text {opened.name}",
        numbers="in files",
        below=[Text(line, "caption") for line in (about, *below) if line],
        click=Click(TOKEN, clicked_token),
        scrolled=True,
        explanation=HOW,
        code=nearest_code(opened.source, int(read.input_ids[position])),
    )
    frame = tokens_frame(read)
    frame = frame.assign(token=[shortened(escape_controls(token), 60) for token in frame["token"]])
    table = Table(frame, "Every token of the text", 480, formats=IDS)
    yield Columns(
        "tokens",
        [table, *sizes(read, own_plan(opened).max_seq_length)],
        list(neighbours(opened, ask, options, read, position)),
    )


def clicked_token(point: Mapping[str, Any]) -> int:
    """Position of the clicked token."""
    at = point.get("customdata")
    return int(at[0] if isinstance(at, list) else at or 0)


def sizes(read: Tokens, for_vectors: int | None) -> Iterator[Part]:
    """Counts of tokens, words and characters; `for_vectors`: most tokens of a text that becomes a sentence vector."""
    limit, reason = count(read.limit), f"Of the model: {escape_markdown(read.limit_reason)}."
    if for_vectors is not None and read.limit is not None and for_vectors < read.limit:
        limit += f"; {for_vectors:,} for vectors"
        reason += f" A sentence vector is made of the first {for_vectors:,} tokens (max_seq_length)."
    special = int(read.special.sum())
    yield Metrics.of(
        Metric("Tokens", count(len(read)), "Rows that the model reads, special tokens included."),
        Metric("Of the text", count(len(read) - special), "Words, pieces of words and punctuation."),
        Metric("Special", count(special), "Tokens such as [CLS], which stand for no word."),
        Metric("Token limit", limit, reason),
        Metric("Words", count(_words(read)), "As the tokenizer splits the text; punctuation is not counted."),
        Metric("Unknown", count(int(read.unknown.sum())), "Pieces of words that are not in the vocabulary."),
        Metric("Cut off", count(sum(read.tokens_cut)), "Tokens at the end that do not fit the model."),
        Metric("Characters", count(len(read.text) + len(read.pair or "")), "Characters of the text."),
    )
    if (words := _words(read)) is not None:
        marked = {pair for pair in zip(read.sequence, read.word_ids or (), strict=False) if pair[1] is not None}
        if others := len(marked) - words:
            yield Text(
                f"Not among the words, but numbered in the column word: {others} of punctuation alone.", "caption"
            )
    if special:
        shown = dict.fromkeys(read.tokens[position] for position in np.flatnonzero(read.special))
        listed = escape_markdown(", ".join(shown))
        yield Text(f"{token_counts(read)}: {listed}. Special tokens stand for no word.", "caption")


def neighbours(opened: Opened, ask: Ask, options: Options, read: Tokens, position: int) -> Iterator[Part]:
    """The nearest rows of the embedding table to one token's row, as bars and table."""
    try:
        answer = ask(nearest_embeddings, replace(options, values={TOKEN.key: str(position)}))
    except BertvizError as error:
        yield Text(escape_markdown(f"The neighbours of a token need the model's weights. {error}"), "notice")
        return
    nearest, spelled = answer.result, answer.drawn["spelled"]
    short = shortened(escape_controls(read.tokens[position]), 24)
    words = (
        f"**{escape_markdown(short)}** has the id {int(read.input_ids[position]):,}; its row has the norm "
        f"**{nearest.norm:.4f}**. The neighbours are those of the vocabulary, before any layer: the same in every text."
    )
    below = [Text(words)]
    if any(each.startswith(PADDING_ROW) for each in spelled):
        padding = (
            "The table has more rows than the tokenizer has tokens. The rest are padding rows, which no text uses."
        )
        below.append(Text(padding, "caption"))
    yield Figure.of(
        nearest_figure,
        answer,
        f"nearest to {short} {opened.name}",
        alt="Nearest rows with cosine and norm",
        formats={"id": "%d"},
        share=0.52,
        below=below,
    )
    yield Text(NEAR_IS, "caption")


def second_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The same text under two tokenizers, one below the other."""
    try:
        answer = ask(second_tokenizer, options)
    except TextError:
        raise
    except BertvizError as error:
        yield Text(escape_markdown(str(error)), "warning")
        return
    read, second, other = answer.drawn["tokens"], answer.drawn["second_tokens"], str(answer.drawn["second_name"])
    words: list[Part] = []
    for name, each in ((opened.name, read), (other, second)):
        description = REFERENCE_TOKENIZERS[name][1] if name in REFERENCE_TOKENIZERS else ""
        words.append(Text(f"**{escape_markdown(name)}**: {_counts(each)}. {description}"))
    words.append(Notices(second.notices, before=f"{other}: "))
    same = counted(len({*read.tokens} & {*second.tokens}), "spelling")
    common = f"The two have {same} in common here. An id means something only to the model it belongs to."
    yield Figure.of(
        tokenizers_figure,
        answer,
        f"tokens of two tokenizers {opened.name} {other}",
        alt="Tokens of both tokenizers",
        models=(opened.name,) if other in REFERENCE_TOKENIZERS else (opened.name, other),
        scrolled=True,
        named_by=TOKENIZER,  # by default it is below the visible part of the page
        below=[*words, Text(common, "caption")],
    )


def token_counts(read: Tokens) -> str:
    """The number of tokens, and how many of them are of the text and how many are special."""
    special = int(read.special.sum())
    texts = "the text" if read.pair is None else "both texts"
    parts = f" = {len(read) - special:,} of {texts} + {special:,} special" if special else ""
    return f"{counted(len(read), 'token')}{parts}"


def _counts(read: Tokens) -> str:
    own = int((~read.special).sum())
    characters = len(read.text) + len(read.pair or "")
    density = f", {characters / own:.1f} characters per token of the text" if own and not any(read.tokens_cut) else ""
    return f"{token_counts(read)}, {int(read.unknown.sum()):,} unknown{density}"


def _words(read: Tokens) -> int | None:
    """Number of words with a letter or digit; None where the tokenizer does not mark words."""
    if read.word_ids is None:
        return None
    texts, words = (read.text, read.pair or ""), set()
    for position, (place, index) in enumerate(zip(read.sequence, read.word_ids, strict=True)):
        span = read.offsets[position] if read.offsets is not None else None
        covered = texts[place][slice(*span)] if span is not None and place is not None else read.tokens[position]
        if index is not None and any(map(str.isalnum, covered)):
            words.add((place, index))
    return len(words)


def tensor_text(read: Tokens) -> str:
    """The input as torch prints it, but never abbreviated."""
    rows = {"input_ids": read.input_ids, "token_type_ids": read.token_type_ids, **read.other_inputs}
    return "\n".join(
        f"{name}, shape (1, {len(read)}):\n[[{', '.join(map(str, ids.tolist()))}]]"
        for name, ids in rows.items()
        if ids is not None
    )


def tokenizer_lines(source: ModelSource, read: Tokens) -> str:
    """Three lines of Python that give the same ids."""
    texts = read.read_texts
    short = sum(map(len, texts)) <= SHOWN_IN_CODE or read.filled is not None
    arguments = ", ".join(map(repr, texts)) if short else ", ".join(("text", "pair")[: len(texts)])
    cut = f", truncation=True, max_length={read.limit}" if any(read.tokens_cut) else ""
    cut += ", add_special_tokens=False" if read.filled is not None else ""
    loading = (
        f"from transformers import {source.tokenizer_class}\n"
        f"tokenizer = {source.tokenizer_class}.from_pretrained({source.pretrained_name!r})\n"
    )
    if source.model_type == STATIC_TYPE:
        loading = static_lines(source, model=False, tokenizer=True)
    return f'{loading}print(tokenizer({arguments}, return_tensors="pt"{cut}).input_ids)   # shape (1, {len(read)})'


def nearest_code(source: ModelSource, token_id: int) -> str:
    """Code for the rows of the embedding table nearest to one of them, with their cosines."""
    loading = (
        "import torch\n"
        f"from transformers import {base_class(source)}, {source.tokenizer_class}\n"
        f"tokenizer = {source.tokenizer_class}.from_pretrained({source.pretrained_name!r})\n"
        f"model = {base_class(source)}.from_pretrained({source.pretrained_name!r})\n"
    )
    if source.model_type == STATIC_TYPE:
        loading = static_lines(source, tokenizer=True)
    return (
        f"{loading}"
        "E = model.get_input_embeddings().weight.detach()   # (vocab, width)\n"
        f"token_id = {token_id}\n"
        "print(E[token_id].norm())\n"
        "cosines = torch.cosine_similarity(E, E[token_id][None])\n"
        "cosines[token_id] = -1   # the row itself is left out\n"
        "nearest = cosines.topk(10)\n"
        "print(tokenizer.convert_ids_to_tokens(nearest.indices.tolist()), nearest.values)"
    )


def _special_lines(opened: Opened, read: Tokens) -> list[str]:
    """One sentence for each special token of the input, in the model's own spelling."""
    roles = opened.tokenizer.special_roles()
    present = zip(read.tokens, (read.special | read.unknown).tolist(), strict=True)
    marked = dict.fromkeys(token for token, is_marked in present if is_marked)
    return [f"**{escape_markdown(token)}** {ROLES[roles[token]]}" for token in marked if roles.get(token) in ROLES]


def _type_lines(opened: Opened, ask: Ask, read: Tokens) -> list[str]:
    """Explain the token types, or that the model reads none, if a pair needs them."""
    capabilities = ask(architecture, Options()).result.capabilities
    known = {each.name: each.answer for each in capabilities}.get("Token types")
    if read.token_type_ids is not None:
        types = read.token_type_ids.tolist()
        counts = ", ".join(f"{types.count(each):,} of type {each}" for each in sorted(set(types)))
        if known in UNREAD_TYPES:
            return [f"**Token types** come from the tokenizer ({counts}), but this model {UNREAD_TYPES[known]}."]
        one = "distinguish a first from a second text; here there is one"
        return [f"**Token types** {'distinguish the two texts' if len(set(types)) > 1 else one}: {counts}."]
    if read.pair is not None:
        return ["**No token types**: this model distinguishes the texts by the separator only."]
    return []


VIEWS = (View("Tokens", (), tokens_view),)
