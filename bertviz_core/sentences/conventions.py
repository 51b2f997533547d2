"""Prompts of queries and documents: those of a folder, and those that the families of models are trained with."""

import re
from collections.abc import Mapping, Sequence

from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.results import PromptPair, SentencePlan
from bertviz_core.text import counted, quoted

QUERY_NAMES, DOCUMENT_NAMES = ("query",), ("document", "passage", "corpus")
"""Names of prompts that sentence-transformers takes for queries and for documents, in its order."""
LONGEST_QUESTION, SHORTEST_DOCUMENT, LEAST_OF_BOTH = 120, 200, 2
"""Characters, and number of texts, by which a list looks like queries and documents."""
ENGLISH_SEARCH = "Represent this sentence for searching relevant passages: "


WEB_SEARCH = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


CONVENTIONS: Mapping[str, PromptPair] = {
    r"embeddinggemma": PromptPair(
        "EmbeddingGemma", "task: search result | query: ", "title: none | text: ", "the model card of EmbeddingGemma"
    ),
    r"qwen3-embedding": PromptPair("Qwen3-Embedding", WEB_SEARCH, "", "the model card of Qwen3-Embedding"),
    r"nomic-embed-text|modernbert-embed": PromptPair(
        "nomic-embed-text", "search_query: ", "search_document: ", "the model card of nomic-embed-text"
    ),
    r"arctic-embed-(?:xs|s|m|l|m-long)(?:-v1\.5)?$": PromptPair(
        "Arctic-embed", ENGLISH_SEARCH, "", "the model card of Snowflake Arctic-embed"
    ),
    r"mxbai-embed-large": PromptPair("mxbai-embed-large", ENGLISH_SEARCH, "", "the model card of mxbai-embed-large-v1"),
    r"bge-(?:small|base|large)-en": PromptPair("BGE", ENGLISH_SEARCH, "", "the model card of BGE"),
    r"bge-(?:small|base|large)-zh": PromptPair(
        "BGE, Chinese", "为这个句子生成表示以用于检索相关文章：", "", "the model card of BGE for Chinese"
    ),
    r"e5-[\w.-]*instruct": PromptPair(
        "E5-instruct", f"{WEB_SEARCH} ", "", "the model card of multilingual-e5-large-instruct"
    ),
    r"e5-(?:small|base|large)": PromptPair("E5", "query: ", "passage: ", "the model card of E5"),
}
"""Pattern of a model's name -> the prompts for search that the card of its family names."""


def convention_of(source: ModelSource) -> PromptPair | None:
    """The prompts of a model's family, by the name of the model, of its folder, or in its config; None for none."""
    return next(
        (
            pair
            for name in source.last_names
            for pattern, pair in CONVENTIONS.items()
            if re.search(rf"(?:^|[^a-z0-9])(?:{pattern})", name)
        ),
        None,
    )


def convention_notice(pair: PromptPair) -> str:
    """That nothing is put in front of the texts, where the model's family does so."""
    return (
        f"The model's folder names no prompts, and nothing is put in front of the texts; {pair.source} "
        f"{_puts(pair)}. The view Prompts of the page Sentences and the command prompts show what that changes."
    )


def _puts(pair: PromptPair) -> str:
    """Where a pair has prompts, as the rest of a sentence."""
    parts = [
        f"{quoted(prompt)} in front of {side}"
        for prompt, side in ((pair.query, "queries"), (pair.document, "documents"))
        if prompt
    ]
    nothing = "" if len(parts) == 2 else ", and nothing in front of " + ("documents" if pair.query else "queries")
    return f"puts {' and '.join(parts)}{nothing}"


def _queries(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def own_pair(plan: SentencePlan) -> PromptPair | None:
    """The prompts of queries and documents that a checkpoint names; None if it names no prompt.

    They are the ones that sentence-transformers takes by their names, or else the first whose names have such a part.
    """
    prompts = plan.prompts or {}
    if not any(prompts.values()):
        return None
    query, document = _prompt_of(prompts, QUERY_NAMES), _prompt_of(prompts, DOCUMENT_NAMES)
    if not query and not document:
        query = next(text for text in prompts.values() if text)
    return PromptPair("the model's folder", query, document, "its config_sentence_transformers.json")


def _prompt_of(prompts: Mapping[str, str], names: Sequence[str]) -> str:
    exact = (name for name in names if name in prompts)
    near = (name for part in names for name in prompts if part in name.lower())
    name = next(exact, None) or next(near, "")
    return prompts.get(name, "")


def looks_like_search(texts: Sequence[str]) -> tuple[int, int]:
    """Numbers of queries and documents that a list seems to have; (0, 0) for an ordinary list.

    Queries end with a question mark and have at most 120 characters, documents do not and have at least 200; there are
    at least two of each, and together they are at least half of the list.
    """
    lines = [text.strip() for text in texts]
    questions = [text.endswith(("?", "？", "؟")) for text in lines]
    pairs = list(zip(lines, questions, strict=True))
    queries = sum(question and len(text) <= LONGEST_QUESTION for text, question in pairs)
    documents = sum(not question and len(text) >= SHORTEST_DOCUMENT for text, question in pairs)
    both = min(queries, documents) >= LEAST_OF_BOTH and 2 * (queries + documents) >= len(texts)
    return (queries, documents) if both else (0, 0)


def search_notice(plan: SentencePlan, texts: Sequence[str]) -> tuple[str, ...]:
    """A notice where queries and documents get the same prompt, and the model has one for each; () otherwise."""
    pair = plan.convention or own_pair(plan)
    queries, documents = looks_like_search(texts) if pair is not None else (0, 0)
    if pair is None or not queries or pair.query == pair.document:
        return ()
    every = f"the prompt {quoted(plan.prompt, 40)}" if plan.prompt else "no prompt"
    return (
        f"The list looks like {_queries(queries)} and {counted(documents, 'document')}, and each "
        f"text gets {every}; {pair.source} {_puts(pair)}.",
    )
