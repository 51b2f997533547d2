"""Format similarities of sentences, and late interaction of a query with a text, as JSON and text."""

from typing import Any

import numpy as np

from bertviz_core.predictions.results import LateInteraction
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.text import escape_controls, quoted


def similarity_json(vectors: SentenceVectors, matrix: np.ndarray) -> dict[str, Any]:
    """The JSON object of the `similarity` command."""
    return {
        "model": vectors.model,
        "sentences": vectors.sentences,
        "similarity": matrix,
        "pooling": vectors.pooling,
        "layer": vectors.layer,
        "normalized": vectors.normalized,
        "prompt": vectors.prompt,
        "dimensions": vectors.dimensions,
        "tokens": vectors.token_counts,
        "notices": vectors.notices,
    }


def similarity_lines(vectors: SentenceVectors, matrix: np.ndarray) -> list[str]:
    """A table of similarities with numbered columns."""
    numbers = [str(index) for index in range(len(matrix))]
    prompt = f", after the prompt {quoted(escape_controls(vectors.prompt), 60)}" if vectors.prompt else ""
    rows = [
        (number, printable_token(text), *map(number_cell, row.tolist()))
        for number, text, row in zip(numbers, vectors.sentences, matrix, strict=True)
    ]
    return [
        f"{vectors.model}: cosine of sentence vectors ({vectors.pooling} of layer {vectors.layer}, "
        f"{vectors.dimensions} dimensions{prompt})",
        "",
        *aligned([("", "sentence", *numbers), *rows], "rl" + "r" * len(numbers)),
    ]


def interaction_json(result: LateInteraction) -> dict[str, Any]:
    """The JSON object of the `late-interaction` command; `best` is a place in document_tokens, from 0."""
    best, largest = result.best, result.largest
    return {
        "model": result.model,
        "query": result.query,
        "document": result.document,
        "score": result.score,
        "mean": result.mean,
        "normalized": result.normalized,
        "trained": result.trained,
        "dimensions": result.dimensions,
        "tokens": [
            {
                "token": token,
                "expanded": bool(result.expanded[place]),
                "largest": largest[place],
                "best": int(best[place]),
                "document_token": result.document_tokens[best[place]],
            }
            for place, token in enumerate(result.query_tokens)
        ],
        "document_tokens": result.document_tokens,
        "skipped": result.skipped,
        "cosines": result.cosines,
        "notices": result.notices,
    }


def interaction_lines(result: LateInteraction) -> list[str]:
    """The score as a sum, and a table of the tokens of the query."""
    count, name = len(result.query_tokens), "cosine" if result.normalized else "dot product"
    kind = "mean" if result.mean else "sum"
    rows = [
        (
            printable_token(row["token"]),
            number_cell(row["largest"]),
            printable_token(row["document_token"]),
            str(row["best"]),
            "fills the query up" if row["expanded"] else "",
        )
        for row in interaction_json(result)["tokens"]
    ]
    skipped = [f"not scored: {' '.join(map(printable_token, result.skipped))}"] if result.skipped else []
    return [
        f"{result.model}: score {number_cell(result.score)}, the {kind} of the largest {name} of {count} tokens",
        *skipped,
        "",
        *aligned([("token", name, "document token", "place", ""), *rows], "lrlrl"),
    ]
