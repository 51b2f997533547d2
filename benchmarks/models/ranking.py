"""A query with 1,000 texts: by late interaction and by a cross-encoder, against sentence-transformers.

The weights are random, with the shape of MiniLM: no time depends on their values. The device is the processor.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.predictions import MINILM, opened_head, saved
from benchmarks.models.sentences import made_sentences
from benchmarks.timing import Row, medians_s

TEXTS, MIDDLE, ROUNDS, SCORED = 1_000, 10, 3, 15
"""Texts, median of their words, rounds, and rounds of scores without a run."""
DIMENSIONS, QUERY_TOKENS = 128, 32
QUERY = "what is late interaction"
TOLERANCE = 1e-4
"""Largest difference of two scores: a sum of 32 cosines in float32."""


def rows() -> list[Row]:
    """Rows of the table for rankings; the peer runs with its own defaults."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_late_interaction(Path(folder) / "late"), _cross_encoder(Path(folder) / "cross")]


def _late_interaction(folder: Path) -> list[Row]:
    """Scores of vectors that are known, and of texts."""
    from bertviz_core.predictions.late_interaction import InteractionEncoder, interaction_scores, max_sims
    from bertviz_core.predictions.late_interaction_plan import interaction_plan
    from bertviz_core.questions.opened import OpenedModel
    from bertviz_core.settings import Settings

    peer = _multi_vector(folder)
    texts = _texts(peer.tokenizer.get_vocab())
    opened = OpenedModel(str(folder / "model"), Settings.from_environment(any_folder=True), device="cpu")
    encoder = InteractionEncoder(opened.loaded, opened.tokenizer, interaction_plan(opened.source, opened.settings))
    query, documents = peer.encode_query(QUERY), peer.encode_document(texts)
    first, arrays = query.numpy(), [each.numpy() for each in documents]
    known = medians_s(lambda: max_sims(first, arrays), lambda: peer.similarity([query], documents), SCORED)
    whole = medians_s(
        lambda: interaction_scores(encoder, QUERY, texts).scores,
        lambda: peer.similarity([peer.encode_query(QUERY)], peer.encode_document(texts)),
        ROUNDS,
    )
    expected = peer.similarity([query], documents)[0].numpy()
    worst = float(np.abs(interaction_scores(encoder, QUERY, texts).scores - expected).max())
    return [
        _row(f"MaxSim of a query with {TEXTS:,} documents, vectors known", *known, worst),
        _row(f"the same with {TEXTS:,} documents to encode", *whole, worst),
    ]


def _cross_encoder(folder: Path) -> Row:
    """A ranking by a cross-encoder."""
    from sentence_transformers import CrossEncoder

    from bertviz_core.models.sources import folder_source
    from bertviz_core.predictions.scoring import pair_scores
    from bertviz_core.settings import Settings

    head, tokenizer = opened_head(folder, "BertForSequenceClassification", **MINILM, num_labels=1)
    head.model.to("cpu")
    source, settings = folder_source("made", folder), Settings.from_environment(any_folder=True)
    peer = CrossEncoder(str(folder), device="cpu")
    texts = _texts(peer.tokenizer.get_vocab())
    ours_s, peer_s = medians_s(
        lambda: pair_scores(head, tokenizer, source, settings, QUERY, texts), lambda: peer.rank(QUERY, texts), ROUNDS
    )
    scores = pair_scores(head, tokenizer, source, settings, QUERY, texts).scores
    worst = max(abs(float(scores[each["corpus_id"]]) - float(each["score"])) for each in peer.rank(QUERY, texts))
    return _row(f"rank of {TEXTS:,} texts by a cross-encoder", ours_s, peer_s, worst)


def _row(work: str, ours_s: float, peer_s: float, worst: float) -> Row:
    beside = f"{peer_s * 1000:.0f} ms sentence-transformers: {peer_s / ours_s:.2f}x, off by {worst:.0e}"
    met = peer_s >= ours_s and worst <= TOLERANCE
    return Row(work, f"{ours_s * 1000:.0f} ms", beside, f">= 1.0x, {TOLERANCE:.0e}", met)


def _multi_vector(folder: Path) -> Any:
    """A model for late interaction, saved by sentence-transformers."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    saved(folder / "encoder", "BertModel", **MINILM)
    expansion = {"strategy": "fixed", "attend": False, "length": QUERY_TOKENS}
    encoder: Any = Transformer(str(folder / "encoder"), query_expansion=expansion)
    dense = Dense(MINILM["hidden_size"], DIMENSIONS, False, torch.nn.Identity(), module_input_name="token_embeddings")
    modules = [encoder, dense, MultiVectorMask([".", ","]), Normalize("token_embeddings")]
    MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(str(folder / "model"))
    return MultiVectorEncoder(str(folder / "model"), device="cpu")


def _texts(vocabulary: dict[str, int]) -> Sequence[str]:
    words = sorted(word for word in vocabulary if word.isalpha() and len(word) > 2)
    return made_sentences(words, TEXTS, MIDDLE)
