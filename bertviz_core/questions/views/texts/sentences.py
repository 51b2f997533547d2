"""Texts and small tables of the page Sentences, and the lines of Python that compute its numbers."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bertviz_core.corpus.analysis.results import CorpusMap
from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.families import family
from bertviz_core.predictions.results import LateInteraction
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import call_lines, opening_lines
from bertviz_core.questions.report.model_lines import reader_lines, reading
from bertviz_core.questions.tables.two_models.sentences import neighbour_frame
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, STATE, sentence_vectors, token_pairs
from bertviz_core.questions.view import Part, Table, Text
from bertviz_core.sentences.plan import NO_PROMPT
from bertviz_core.sentences.results import (
    SPARSE_POOLINGS,
    EdgeTokens,
    MapMethod,
    Measure,
    Pooling,
    PoolingComparison,
    ScoredPairs,
    SentenceComparison,
    SentenceMap,
    SentencePlan,
    TokenPairShares,
)
from bertviz_core.text import counted, decimals, escape_markdown

SIMILARITY: Mapping[Measure, str] = {
    "cosine": "Every sentence becomes one vector; the cosine of two is their dot product over the product of their "
    "lengths, from -1 to 1, and 1 on the diagonal. A zero vector has the cosine 0 to all. Sentence numbers begin "
    "at 1. The tree joins, step by step, the two clusters whose mean distance (1 - cosine) is least (average linkage). "
    "Cosines of different models, poolings or layers cannot be compared by their height.",
    "dot": "Every sentence becomes one vector; the dot product grows with the lengths of both; of "
    "vectors normalised to unit length it is the cosine. Sentence numbers begin at 1. The tree is made from the "
    "cosine.",
    "euclidean": "Every sentence becomes one vector; the Euclidean distance is the length of their difference, 0 on "
    "the diagonal: small is alike. Sentence numbers begin at 1. The tree is made from the cosine.",
}
NEAREST = (
    "The query becomes a vector as the sentences do and is compared with each of them. A high score says that they are "
    "alike to the model, which need not be what a reader means: try the example on negation."
)
PAIR = (
    "The mean of the tokens' vectors is a sum, so the cosine of two means is one too: "
    "`cos(a, b) = sum over i, j of <h_i, k_j> / (n m |a| |b|)`, with `h_i` and `k_j` the tokens' vectors, `n` and "
    "`m` their counts, `a` and `b` the means. Every term is a cell; rows and columns add up to the totals beside "
    "them. Max pooling takes each dimension from one token, so its share goes to that pair of tokens. A cell says "
    "what enters this sum, not what the model looked at: every vector already holds its context."
)
SHARED_TERMS = (
    "A sparse encoder gives a text one weight for each word of its vocabulary, 0 for almost all, from the logits of "
    "its masked-LM head (Formal et al. 2021); one that reads queries without an encoder takes the weight of each token "
    "that occurs from a table, such as its inverse document frequency, whatever stands around it. The dot product of "
    "two texts is `sum over words v of w_v(a) w_v(b)`: "
    "only words with a weight in both add to it, and a word need not stand in either text."
)
VECTORS = (
    "A row is the vector of a sentence: its tokens' vectors of one layer made one by the pooling, then what the "
    "checkpoint's own modules add. Where vectors are normalised to unit length, the squares of a row add up to 1."
)
POOLINGS = (
    "For every pooling and layer the sentences become vectors; the mean of the cosines of all pairs of different "
    "sentences is their anisotropy (Ethayarajh 2019, section 3.2), the spread is the standard deviation of these "
    "cosines. Dense layers, prompts and normalisation of the checkpoint are left out here, so that only the "
    "pooling differs."
)
MAPS = (
    "Rows and columns are the sentences in their order. Of many hidden states, evenly spaced ones are drawn; the "
    "pooler reads the last only."
)
CUT = (
    "Of every vector only the first dimensions are taken, as for a model that is trained so that they suffice "
    "(Matryoshka, Kusupati et al. 2022), and the cosines of all pairs are computed again. Neighbours kept is the mean "
    "share of the sentences nearest to each that are also nearest to it with the full vectors; Spearman's correlation "
    "compares the order of the cosines of all pairs. A float32 vector needs 4 bytes a dimension."
)
FEW = "With a third sentence, this shows what vectors of fewer bits and dimensions keep."
MAP: Mapping[MapMethod, tuple[str, str]] = {
    "pca": (
        "Principal component analysis turns the vectors, their mean taken off, so that the first axis holds as much of "
        "their variance as one axis can, and the second as much of the rest; the shares stand at the axes. Points "
        "far apart are far apart in the model too; points close together need not be where the shares are small.",
        "centred = v - v.mean(0)\n_, s, axes = torch.linalg.svd(centred, full_matrices=False)\n"
        "points, shares = centred @ axes[:2].T, (s**2 / (s**2).sum())[:2]\n"
        "print(points, shares)   # an axis may point the other way",
    ),
    "umap": (
        "UMAP links every sentence to its nearest by the cosine and looks for points of the plane with the same links "
        "(McInnes et al. 2018). Who is whose neighbour can be read from it; distances between groups, their sizes and "
        "the axes cannot. The start is drawn by lot from a fixed seed, so that the picture is always the same.",
        "import umap\n\npoints = umap.UMAP(n_neighbors=min(15, len(v) - 1), metric='cosine', random_state=0)"
        ".fit_transform(v.numpy())\nprint(points)",
    ),
}
LATE_INTERACTION = (
    "Query and text are run apart. Each token of the query is compared with each token of the text by the cosine of "
    "their vectors, and only the largest of a row counts: `score = sum over i of max over j of cos(q_i, d_j)` "
    "(ColBERT, Khattab and Zaharia 2020, equation 3). Of a checkpoint that was trained for it, the vectors are the "
    "last hidden states after its projection; the markers in front, the masks that fill a query up, the tokens of the "
    "text that are left out and the lengths are those of its files, and the numbers are those of `MultiVectorEncoder` "
    "of sentence-transformers. Any other encoder is compared by its last hidden states. A framed cell says where a row "
    "finds its largest cosine, not that the two tokens mean the same: every vector already holds its context. Scores "
    "of two queries cannot be compared, since a query with more tokens has a larger sum."
)
THREE_HEADS = (
    "One run of the encoder gives three scores of a query and a text (BGE-M3, Chen et al. 2024), as FlagEmbedding "
    "computes them. Dense: the cosine of the states of the first token. Sparse: each token has the weight "
    "`ReLU(w · h + b)`, of a token that occurs several times the largest counts, special tokens have none, and "
    "the products of the weights of the tokens that both have are added up. Multi-vector: every token but the first is "
    "projected to a vector of length 1, and the score is the mean, over the tokens of the query, of the largest cosine "
    "with a token of the text. The weighted mean is `(a · dense + b · sparse + c · multi-vector) / (a + b + c)`; the "
    "three have different ranges, so that equal weights do not mean equal influence. Texts are read to the length of "
    "the model's files; FlagEmbedding cuts them at 512 tokens unless it is told otherwise."
)
RANKED_BY_HEAD = (
    "The task head reads the query and each text together, as one input, and gives a logit. A head with one output is "
    "a cross-encoder (Nogueira and Cho 2019): its score is the activation that the checkpoint's settings name, the "
    "sigmoid by default, as in sentence-transformers. A causal model that answers yes or no, such as Qwen3-Reranker, "
    "reads both in a chat template, and its logit is that of the token yes minus that of no, in the place of the next "
    "token: the sigmoid of the difference is the softmax over both. Of a head for natural language inference, whose "
    "premise is the query and whose hypothesis is the text, the score is the probability of one class: the softmax "
    "of its logits, or the sigmoid where classes do not exclude each other. Scores of far logits are rounded "
    "to the same number: the sigmoid of every logit above 17.4 is 1 in float32, of every one above 6.3 in bfloat16. "
    "Such texts are counted, and ordered by their logits. {beside}"
)
RANKED_BY_TOKENS = (
    "The model reads query and text apart, and every token of the query is compared with every token of the text: the "
    "score is the sum, over the tokens of the query, of the largest cosine (ColBERT, Khattab and Zaharia 2020), as "
    "`MultiVectorEncoder` of sentence-transformers computes it. {beside}"
)
RANKED_BESIDE = (
    "The sentence model reads query and text apart, and the cosine compares the two vectors; its height cannot be "
    "compared with the score, only the order can. ▲ is the number of places that the score puts a text higher. Scores "
    "of two queries cannot be compared either, unless the model was trained for it."
)
TWO_MODELS = (
    "Every sentence becomes one vector in each model, by that model's own recipe unless pooling or layer are chosen. "
    "The three maps have one scale: the cosines of the first model, those of the second, and second − first. A high "
    "cosine alone says little, since models differ in the cosine of sentences that have nothing to do with each other; "
    "a pair is alike to a model if it stands out above the others. So mean, 5th and 95th percentile of all pairs are "
    "drawn below: where they lie close together, nothing stands out any more. A neighbour is kept if it is among the "
    "nearest sentences in both models, by the cosine. CKA (Kornblith et al. 2019, linear kernel, the estimate of Song "
    "et al. 2012 without bias) is 1 where one model's vectors are those of the other turned, scaled or shifted."
)
MORE = "Two models are compared on at least 3 sentences: add another under **Sentences**."
SAME = "The same model is chosen on both sides, so every difference is 0. Choose another under **Compare with**."
GOLD = (
    "Both sentences of a pair become vectors, and their cosine is compared with the gold similarity that people gave. "
    "Pearson's correlation asks whether the points lie on a line, Spearman's whether both put the pairs in the same "
    "order (it is Pearson's of the ranks; equal values share their mean rank). A rank error is the rank of the cosine "
    "minus that of the gold similarity, as a share of all ranks: above 0 where the model finds a pair more alike than "
    "people do, compared with the other pairs. The mean height of the cosines has no part in any of these numbers."
)
NO_PAIRS = (
    "Under **Pairs**, write pairs of sentences with their similarity, or choose a file such as the STS benchmark's: "
    "columns sentence1, sentence2 and score."
)
POOLED: Mapping[Pooling, str] = {
    "mean": "h.mean(0)",
    "cls": "h[0]",
    "max": "h.amax(0)",
    "pooler": "outputs.pooler_output[0]",
    "lasttoken": "h[-1]",
    "weightedmean": "torch.arange(1.0, len(h) + 1) @ h / sum(range(1, len(h) + 1))",
    "mean_sqrt_len_tokens": "h.sum(0) / len(h) ** 0.5",
}
"""Pooling -> code for one vector from the token vectors `h`, one per row."""
COMPARED: Mapping[Measure, str] = {
    "cosine": "u = torch.nn.functional.normalize(v, dim=-1)\nprint(u @ u.T)",
    "dot": "print(v @ v.T)",
    "euclidean": "print(torch.cdist(v, v))",
}
OF_QUERY: Mapping[Measure, str] = {
    "cosine": "print(torch.nn.functional.cosine_similarity(query[None], v).topk(min(10, len(v))))",
    "dot": "print((v @ query).topk(min(10, len(v))))",
    "euclidean": "print(torch.cdist(query[None], v)[0].topk(min(10, len(v)), largest=False))",
}
LISTED, SUMMED = 12, 3
"""Most pairs of tokens in a table, and terms of a sum."""
SPELLED = 2_000
"""Most characters of sentences that are written out in the code."""


def input_lines(opened: Opened, plan: SentencePlan, sentence: str) -> str:
    """Further arguments of the tokenizer for sentences like this one."""
    tokens = opened.tokens(sentence, None)
    limit = min(filter(None, (plan.max_seq_length, tokens.limit)), default=None)
    return reading(tokens, opened.loaded.model, limit)


def vector_code(opened: Opened, plan: SentencePlan, sentences: Sequence[str], query_prompt: str = "") -> str:
    """Code for the vectors `v` of the sentences, which it computes one by one, so that nothing is padded.

    Further modules of a checkpoint after the pooling, and a prompt that is read but not pooled, need the library. With
    a prompt of the query, `pooled` gets a parameter for it.
    """
    prompted = bool(plan.prompt or query_prompt)
    if _needs_library(plan, query_prompt):
        return _vectors_by_library(opened, plan, sentences)
    state = "outputs.last_hidden_state[0]" if plan.layer is None else f"outputs.hidden_states[{plan.layer}][0]"
    text = "prompt + sentence" if prompted else "sentence"
    text = f"''.join(map(str.lower, {text}))" if plan.lower_case else text
    lines = [
        f"    inputs = tokenizer({text}, {input_lines(opened, plan, sentences[0])})",
        "    with torch.no_grad():",
        "        outputs = model(**inputs, output_hidden_states=True)",
        f"    h = {state}   # (tokens, hidden)",
        f"    vector = {POOLED[plan.pooling]}",
        *(["    vector = torch.nn.functional.normalize(vector, dim=-1)"] if plan.normalize else []),
        f"    return vector{f'[:{plan.truncate_dim}]' if plan.truncate_dim else ''}",
    ]
    return (
        f"{reader_lines(opened)}sentences = {_spelled(sentences)}\n\n\n"
        f"def pooled(sentence{f', prompt={plan.prompt!r}' if prompted else ''}):\n" + "\n".join(lines) + "\n\n\n"
        "v = torch.stack([pooled(sentence) for sentence in sentences])"
    )


def _needs_library(plan: SentencePlan, query_prompt: str) -> bool:
    return bool(
        plan.pooling in SPARSE_POOLINGS or plan.dense or ((plan.prompt or query_prompt) and not plan.include_prompt)
    )


def _vectors_by_library(opened: Opened, plan: SentencePlan, sentences: Sequence[str]) -> str:
    chosen = {key: value for key, value in _plan_values(plan).items() if key != PROMPT.key}
    call = ", ".join([repr(sentence_vectors.public_name), "sentence", *(f"{key}={chosen[key]!r}" for key in chosen)])
    return (
        f"import torch\n{opening_lines(opened)}"
        f"sentences = {_spelled(sentences)}\n\n\n"
        f"def pooled(sentence, prompt={prompt_name(plan, plan.prompt)!r}):\n"
        f"    vectors = model.compute({call}, prompt=prompt).vectors\n"
        "    return torch.from_numpy(vectors)[0]\n\n\n"
        "v = torch.stack([pooled(sentence) for sentence in sentences])"
    )


def _plan_values(plan: SentencePlan) -> dict[str, str]:
    layer = {} if plan.layer is None else {STATE.key: str(plan.layer)}
    pooling = {} if plan.pooling in SPARSE_POOLINGS else {POOLING.key: plan.pooling}
    return {**pooling, **layer, PROMPT.key: prompt_name(plan, plan.prompt)}


def prompt_name(plan: SentencePlan, prompt: str) -> str:
    """Name of a prompt of the checkpoint; that of no prompt, if it has none with this text."""
    return next((name for name, text in (plan.prompts or {}).items() if text == prompt), NO_PROMPT)


def similarity_code(opened: Opened, plan: SentencePlan, sentences: Sequence[str], measure: Measure) -> str:
    """Code for the matrix."""
    return f"{vector_code(opened, plan, sentences)}\n{COMPARED[measure]}"


def nearest_code(
    opened: Opened, plan: SentencePlan, sentences: Sequence[str], measure: Measure, query: str, prompt: str
) -> str:
    """Code for the sentences nearest to a query, which has its own prompt."""
    named = prompt_name(plan, prompt) if _needs_library(plan, prompt) else prompt
    arguments = repr(query) if prompt == plan.prompt else f"{query!r}, {named!r}"
    return f"{vector_code(opened, plan, sentences, prompt)}\nquery = pooled({arguments})\n{OF_QUERY[measure]}"


def pair_code(opened: Opened, plan: SentencePlan, sentences: Sequence[str]) -> str:
    """Code that splits the cosine of two sentences into pairs of tokens; all poolings but the mean use the library."""
    if plan.pooling == "mean" and not (plan.dense or plan.prompt or plan.lower_case or plan.truncate_dim):
        state = "last_hidden_state[0]" if plan.layer is None else f"hidden_states[{plan.layer}][0]"
        more = input_lines(opened, plan, sentences[0])
        return (
            f"{reader_lines(opened)}\n\n"
            "def hidden(sentence):\n"
            "    with torch.no_grad():\n"
            f"        outputs = model(**tokenizer(sentence, {more}), output_hidden_states=True)\n"
            f"    return outputs.{state}   # (tokens, hidden)\n\n\n"
            f"h, k = (hidden(sentence) for sentence in {_spelled(sentences)})\n"
            "a, b = h.mean(0), k.mean(0)\n"
            "cells = h @ k.T / (len(h) * len(k) * a.norm() * b.norm())\n"
            "print(cells, cells.sum(), torch.cosine_similarity(a, b, dim=0))"
        )
    options = Options(tuple(sentences), values=_plan_values(plan))
    return opening_lines(opened) + call_lines(token_pairs, options)


def spread_code(opened: Opened, plan: SentencePlan, sentences: Sequence[str], pooling: Pooling) -> str:
    """Code for the mean and spread of the cosines of all pairs, for every hidden state."""
    more = input_lines(opened, plan, sentences[0])
    return (
        f"{reader_lines(opened)}sentences = {_spelled(sentences)}\n"
        "with torch.no_grad():\n"
        f"    runs = [model(**tokenizer(sentence, {more}), output_hidden_states=True) "
        "for sentence in sentences]\n"
        "for state in range(len(runs[0].hidden_states)):   # 0 is the embeddings\n"
        "    tokens = [outputs.hidden_states[state][0] for outputs in runs]\n"
        f"    v = torch.nn.functional.normalize(torch.stack([{POOLED[pooling]} for h in tokens]), dim=-1)\n"
        "    pairs = (v @ v.T)[torch.triu_indices(len(v), len(v), 1).unbind()]\n"
        "    print(state, pairs.mean(), pairs.std(correction=0))"
    )


def closest_frame(pairs: ScoredPairs, sentences: Sequence[str]) -> "pd.DataFrame":
    """Pairs of sentences with their similarity, in descending order."""
    rows = zip(pairs.score.tolist(), pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return pd.DataFrame(
        [(score, one + 1, sentences[one], other + 1, sentences[other]) for score, one, other in rows],
        columns=[MEASURE_WORDS[pairs.measure], "first", "first sentence", "second", "second sentence"],
    )


def last_layer(compared: PoolingComparison) -> str:
    """The numbers of the last layer, as text."""
    means, spreads = compared.mean_cosine[:, -1], compared.spread[:, -1]
    words = [
        f"{escape_markdown(pooling_word(pooling, compared.edges.first))} {mean:.4f} ± {spread:.4f}"
        for pooling, mean, spread in zip(compared.poolings, means, spreads, strict=True)
        if np.isfinite(mean)
    ]
    return f"After the last layer, mean ± spread: **{', '.join(words)}**."


def _summed(terms: Sequence[tuple[float, str, str]], total: float, rest: str) -> str:
    """A sum: its terms with two tokens each, and the rest as one, of the printed numbers, so that the line adds up."""
    words = [
        f"{decimals(value)} :gray[({escape_markdown(one)} · {escape_markdown(other)})]" for value, one, other in terms
    ]
    left = round(total, 4) - sum(round(value, 4) for value, _, _ in terms)
    return " + ".join([*words, *([f"{decimals(left)} :gray[({rest})]"] if rest else [])])


def pair_sum(shares: TokenPairShares) -> str:
    """The score as a sum: its largest terms, and the rest of the cells as one."""
    top = shares.top[:SUMMED]
    terms = [(each.share, shares.first_tokens[each.first], shares.second_tokens[each.second]) for each in top]
    words = _summed(terms, shares.total, f"the other {shares.cells.size - len(top):,} pairs")
    if shares.exact:
        return f"**{shares.score:.4f}** = {words}"
    return f"**{shares.score:.4f}** ≈ {words}; the cells add up to {shares.total:.4f}"


def largest_pairs(shares: TokenPairShares) -> "pd.DataFrame":
    """The pairs of tokens with the largest contributions."""
    first, second, total = shares.first_tokens, shares.second_tokens, shares.total or 1
    rows = [(first[each.first], second[each.second], each.share, each.share / total) for each in shares.top[:LISTED]]
    return pd.DataFrame(rows, columns=["first token", "second token", "contribution", "share of the sum"])


def word_shares(shares: TokenPairShares) -> "pd.DataFrame":
    """The words of both sentences with the sums of their contributions."""
    sides = (
        ("first", shares.first_words, shares.first_word_totals.tolist()),
        ("second", shares.second_words, shares.second_word_totals.tolist()),
    )
    rows = [(side, word, total) for side, words, totals in sides for word, total in zip(words, totals, strict=True)]
    return pd.DataFrame(rows, columns=["sentence", "word", "contribution"])


def interaction_sum(result: LateInteraction) -> str:
    """The score as a sum: its largest terms, and the rest as one."""
    largest, count = result.largest.tolist(), len(result.query_tokens)
    places = sorted(range(count), key=lambda place: -largest[place])[:SUMMED]
    terms = [
        (largest[place], result.query_tokens[place], result.document_tokens[result.best[place]]) for place in places
    ]
    rest = f"the other {count - len(terms):,} tokens of the query" if count > len(terms) else ""
    words = _summed(terms, round(result.score * (count if result.mean else 1), 4), rest)
    return f"**{decimals(result.score)}** = {f'({words}) / {count:,}' if result.mean else words}"


def about_poolings(own: Pooling, recommended: bool, edges: EdgeTokens, model_type: str) -> str:
    """Describe this model's poolings, from its files and its tokenizer."""
    first = f"**{escape_markdown(edges.first)}**" if edges.first else ""
    if recommended:
        word = escape_markdown(pooling_word(own, edges.first))
        return (
            f"This checkpoint asks for **{word}**: sentences were compared by it in training. No other pooling was "
            "trained for, so its cosines may be high for every pair; look for a low mean with a large spread."
        )
    untrained = (
        "The checkpoint names no pooling: it was not trained to compare sentences. Its vectors tend to point the same "
        "way, and a mean cosine near 1 with little spread says that everything is alike to everything (Ethayarajh "
        "2019, section 4.1)."
    )
    if not first:
        last = f" Every text ends with {escape_markdown(edges.last)}." if edges.last else ""
        return (
            f"{untrained} Its tokenizer puts no token of its own in front of a text, so there is no [CLS] to pool."
            f"{last} Where a token sees only those before it, as in GPT-2, the first has seen only itself and the last "
            "the whole sentence: such models are pooled by the last token or by the mean."
        )
    pooler_note = f" {note}" if (note := family(model_type).pooler_note) else ""
    return (
        f"{untrained} That holds for {first} above all: nothing in pre-training asks that two sentences of like "
        f"meaning have like {first} vectors (Reimers and Gurevych 2019, section 4.1).{pooler_note}"
    )


def quoted_sentence(number: int, sentence: str) -> str:
    """The number of a sentence, from 1, and its beginning."""
    return f"{number + 1} *{escape_markdown(sentence[:200])}*"


def _spelled(sentences: Sequence[str]) -> str:
    """The sentences as Python literals; for a long list, code that reads them from a file."""
    if sum(map(len, sentences)) > SPELLED:
        return "open('sentences.txt', encoding='utf-8').read().splitlines()   # one per line"
    return "[\n" + "".join(f"    {sentence!r},\n" for sentence in sentences) + "]"


def neighbour_parts(compared: SentenceComparison) -> Iterator[Part]:
    """What the nearest sentences of two models have in common."""
    count, share = compared.neighbours, float(compared.shared.mean())
    of = "nearest sentence" if count == 1 else f"{count} nearest sentences"
    keeps = "keeps" if compared.same_nearest == 1 else "keep"
    cka = "" if compared.cka is None else f" CKA of the vectors is **{decimals(compared.cka)}**."
    yield Text(
        f"**Nearest sentences.** Of the {of} of each, **{share:.0%}** on average are the same in both models; "
        f"{compared.same_nearest} of {counted(len(compared.sentences), 'sentence')} {keeps} the nearest one.{cka}"
    )
    frame, alt = neighbour_frame(compared), "The nearest sentence of each in both models"
    yield Table(frame, alt, formats={"neighbours kept": "percent"})


def variance_words(placed: CorpusMap | SentenceMap) -> str:
    """The share of the variance that a plane of points shows, if it is known, and the note on how it was made."""
    if placed.explained is None:
        return escape_markdown(placed.note)
    return f"The plane holds **{float(placed.explained.sum()):.1%}** of the variance. {escape_markdown(placed.note)}"
