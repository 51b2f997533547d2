"""Texts of the page on sentences, and the lines of Python that compute its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.models.families import family
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import call_lines
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, STATE, sentence_vectors, token_pairs
from bertviz_core.sentences.plan import NO_PROMPT
from bertviz_core.sentences.results import EdgeTokens, Measure, Pooling, SentencePlan
from bertviz_core.text import escape_markdown

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
NEAREST: Mapping[Measure, str] = {
    "cosine": "print(torch.nn.functional.cosine_similarity(query[None], v).topk(min(10, len(v))))",
    "dot": "print((v @ query).topk(min(10, len(v))))",
    "euclidean": "print(torch.cdist(query[None], v)[0].topk(min(10, len(v)), largest=False))",
}
SPELLED = 2_000
"""Most characters of sentences that are written out in the code."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The first lines of Python code."""

    loading: str
    """Lines that load model and tokenizer with transformers."""
    opening: str
    """Lines that open the model with the library of this dashboard."""
    input_lines: str
    """Further arguments of the tokenizer."""
    sentences: tuple[str, ...]
    """The sentences."""


def vector_code(origin: Origin, plan: SentencePlan, query_prompt: str = "") -> str:
    """Code for the vectors `v` of the sentences, which it computes one by one, so that nothing is padded.

    Further modules of a checkpoint after the pooling, and a prompt that is read but not pooled, need the library.

    Args:
        origin: first lines of the code.
        plan: how a sentence becomes a vector.
        query_prompt: prompt of the query, for which `pooled` gets a parameter; "" for none.
    """
    prompted = bool(plan.prompt or query_prompt)
    if _needs_library(plan, query_prompt):
        return _vectors_by_library(origin, plan)
    state = "outputs.last_hidden_state[0]" if plan.layer is None else f"outputs.hidden_states[{plan.layer}][0]"
    text = "prompt + sentence" if prompted else "sentence"
    text = f"''.join(map(str.lower, {text}))" if plan.lower_case else text
    lines = [
        f"    inputs = tokenizer({text}, {origin.input_lines})",
        "    with torch.no_grad():",
        "        outputs = model(**inputs, output_hidden_states=True)",
        f"    h = {state}   # (tokens, hidden)",
        f"    vector = {POOLED[plan.pooling]}",
        *(["    vector = torch.nn.functional.normalize(vector, dim=-1)"] if plan.normalize else []),
        f"    return vector{f'[:{plan.truncate_dim}]' if plan.truncate_dim else ''}",
    ]
    return (
        f"{origin.loading}sentences = {_spelled(origin.sentences)}\n\n\n"
        f"def pooled(sentence{f', prompt={plan.prompt!r}' if prompted else ''}):\n" + "\n".join(lines) + "\n\n\n"
        "v = torch.stack([pooled(sentence) for sentence in sentences])"
    )


def _needs_library(plan: SentencePlan, query_prompt: str) -> bool:
    return bool(plan.dense or ((plan.prompt or query_prompt) and not plan.include_prompt))


def _vectors_by_library(origin: Origin, plan: SentencePlan) -> str:
    chosen = {key: value for key, value in _plan_values(plan).items() if key != PROMPT.key}
    call = ", ".join([repr(sentence_vectors.public_name), "sentence", *(f"{key}={chosen[key]!r}" for key in chosen)])
    return (
        f"import torch\n{origin.opening}"
        f"sentences = {_spelled(origin.sentences)}\n\n\n"
        f"def pooled(sentence, prompt={prompt_name(plan, plan.prompt)!r}):\n"
        f"    vectors = model.compute({call}, prompt=prompt).vectors\n"
        "    return torch.from_numpy(vectors)[0]\n\n\n"
        "v = torch.stack([pooled(sentence) for sentence in sentences])"
    )


def _plan_values(plan: SentencePlan) -> dict[str, str]:
    """The plan as arguments of the library."""
    layer = {} if plan.layer is None else {STATE.key: str(plan.layer)}
    return {POOLING.key: plan.pooling, **layer, PROMPT.key: prompt_name(plan, plan.prompt)}


def prompt_name(plan: SentencePlan, prompt: str) -> str:
    """Name of a prompt of the checkpoint; that of no prompt, if it has none with this text."""
    return next((name for name, text in (plan.prompts or {}).items() if text == prompt), NO_PROMPT)


def similarity_code(origin: Origin, plan: SentencePlan, measure: Measure) -> str:
    """Code for the matrix."""
    return f"{vector_code(origin, plan)}\n{COMPARED[measure]}"


def nearest_code(origin: Origin, plan: SentencePlan, measure: Measure, query: str, prompt: str) -> str:
    """Code for the sentences nearest to a query, which has its own prompt."""
    named = prompt_name(plan, prompt) if _needs_library(plan, prompt) else prompt
    arguments = repr(query) if prompt == plan.prompt else f"{query!r}, {named!r}"
    return f"{vector_code(origin, plan, prompt)}\nquery = pooled({arguments})\n{NEAREST[measure]}"


def pair_code(origin: Origin, plan: SentencePlan) -> str:
    """Code that splits the cosine of two sentences into pairs of tokens; all poolings but the mean use the library."""
    if plan.pooling == "mean" and not (plan.dense or plan.prompt or plan.lower_case or plan.truncate_dim):
        state = "last_hidden_state[0]" if plan.layer is None else f"hidden_states[{plan.layer}][0]"
        return (
            f"{origin.loading}\n\n"
            "def hidden(sentence):\n"
            "    with torch.no_grad():\n"
            f"        outputs = model(**tokenizer(sentence, {origin.input_lines}), output_hidden_states=True)\n"
            f"    return outputs.{state}   # (tokens, hidden)\n\n\n"
            f"h, k = (hidden(sentence) for sentence in {_spelled(origin.sentences)})\n"
            "a, b = h.mean(0), k.mean(0)\n"
            "cells = h @ k.T / (len(h) * len(k) * a.norm() * b.norm())\n"
            "print(cells, cells.sum(), torch.cosine_similarity(a, b, dim=0))"
        )
    options = Options(origin.sentences, values=_plan_values(plan))
    return origin.opening + call_lines(token_pairs, options)


def spread_code(origin: Origin, pooling: Pooling) -> str:
    """Code for the mean and spread of the cosines of all pairs, for every hidden state."""
    return (
        f"{origin.loading}sentences = {_spelled(origin.sentences)}\n"
        "with torch.no_grad():\n"
        f"    runs = [model(**tokenizer(sentence, {origin.input_lines}), output_hidden_states=True) "
        "for sentence in sentences]\n"
        "for state in range(len(runs[0].hidden_states)):   # 0 is the embeddings\n"
        "    tokens = [outputs.hidden_states[state][0] for outputs in runs]\n"
        f"    v = torch.nn.functional.normalize(torch.stack([{POOLED[pooling]} for h in tokens]), dim=-1)\n"
        "    pairs = (v @ v.T)[torch.triu_indices(len(v), len(v), 1).unbind()]\n"
        "    print(state, pairs.mean(), pairs.std(correction=0))"
    )


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


def _spelled(sentences: Sequence[str]) -> str:
    """The sentences as Python literals; for a long list, code that reads them from a file."""
    if sum(map(len, sentences)) > SPELLED:
        return "open('sentences.txt', encoding='utf-8').read().splitlines()   # one per line"
    return "[\n" + "".join(f"    {sentence!r},\n" for sentence in sentences) + "]"
