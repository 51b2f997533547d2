"""Sentence vectors in three number formats against sentence-transformers on the same device."""

from functools import partial

from benchmarks.device import agreement, extra_nbytes
from benchmarks.models.sentences import SENTENCES, OurModel, PeerModel, bfloat16_row, float32_row, made_sentences
from benchmarks.timing import Row


def rows(device: str) -> list[Row]:
    """Rows of the table for sentence vectors; ours run in float32 and bfloat16, the peer in float16, too."""
    ours, peer = OurModel(device), PeerModel(device)
    sentences = made_sentences(peer.words, SENTENCES, 10)
    found = [float32_row(ours, peer, sentences)]
    ours_mb = extra_nbytes(partial(ours.vectors, sentences), device) / 1e6
    peer_mb = extra_nbytes(partial(peer.vectors, sentences), device) / 1e6
    return [
        *found,
        Row("its extra memory", f"{ours_mb:.0f} MB", f"{peer_mb:.0f} MB {peer.title}", "told, no budget", True),
        *(bfloat16_row(ours, PeerModel(device, dtype), sentences, 1.0) for dtype in ("bfloat16", "float16")),
        agreement("the vectors, float32", [(ours.vectors(sentences), OurModel("cpu").vectors(sentences))]),
    ]
