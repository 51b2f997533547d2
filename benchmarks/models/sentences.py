"""Sentence vectors of the bundled model against encode of sentence-transformers; the second time from the store."""

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, medians_s

SENTENCES = 2000
STORED = 5000
ROUNDS = 5


def rows() -> list[Row]:
    """Rows of the table for sentence vectors; the peer runs with its own defaults."""
    from sentence_transformers import SentenceTransformer

    from bertviz_core.models.device import fast_formats
    from bertviz_core.models.sources import bundled_folder

    peer = SentenceTransformer(str(bundled_folder()), device="cpu")
    words = sorted(word for word in peer.tokenizer.get_vocab() if word.isalpha() and len(word) > 2)
    sentences = made_sentences(words, SENTENCES, 10)
    ours = _Ours()
    ours_s, peer_s = medians_s(lambda: ours.vectors(sentences), lambda: peer.encode(sentences), ROUNDS)
    theirs = peer.encode(sentences)
    worst = float(np.abs(ours.vectors(sentences) - theirs).max())
    found = [
        Row(
            f"vectors of {SENTENCES:,} sentences, float32",
            f"{SENTENCES / ours_s:.0f} a second",
            f"{SENTENCES / peer_s:.0f} sentence-transformers: {peer_s / ours_s:.2f}x, off by {worst:.0e}",
            ">= 1.0x, 1e-5",
            peer_s >= ours_s and worst <= 1e-5,
        )
    ]
    if "bfloat16" in fast_formats("cpu"):
        half_s, peer_s = medians_s(lambda: ours.vectors(sentences, "bfloat16"), lambda: peer.encode(sentences), ROUNDS)
        cosine = float(np.einsum("nd,nd->n", ours.vectors(sentences, "bfloat16"), theirs).min())
        words_half = f"{SENTENCES / peer_s:.0f} sentence-transformers: {peer_s / half_s:.2f}x, cosine >= {cosine:.5f}"
        met = peer_s >= 1.8 * half_s and cosine >= 0.999
        found.append(
            Row("the same in bfloat16", f"{SENTENCES / half_s:.0f} a second", words_half, ">= 1.8x, 0.999", met)
        )
    else:
        found.append(
            Row("the same in bfloat16", "not run", "this CPU has no bfloat16 of its own", "where it has", True)
        )
    return [*found, _stored(ours, made_sentences(words, STORED, 7))]


def _stored(ours: "_Ours", sentences: Sequence[str]) -> Row:
    """The first and second time with a new store."""
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for _ in range(2):
            start = time.perf_counter()
            ours.vectors(sentences, store=Path(folder))
            times.append(time.perf_counter() - start)
    first, second = times
    details = f"{first:.2f} s the first time: {first / second:.0f}x"
    return Row(f"{STORED:,} short sentences again", f"{second:.2f} s", details, ">= 20x", first >= 20 * second)


class _Ours:
    """The bundled model and its plan, loaded once."""

    def __init__(self) -> None:
        from bertviz_core.models.loading import load_model
        from bertviz_core.models.sources import resolve
        from bertviz_core.sentences.plan import recommended
        from bertviz_core.settings import DEFAULT_MODEL, Settings
        from bertviz_core.trace.tokenization import load_tokenizer

        settings = Settings.from_environment()
        source = resolve(DEFAULT_MODEL, settings)
        self._plan = recommended(source, settings)
        self._loaded, self._tokenizer = load_model(source, settings), load_tokenizer(source, settings)
        self._loaded.model.to("cpu")
        self._loaded.device = "cpu"

    def vectors(self, sentences: Sequence[str], dtype: str = "float32", store: Path | None = None) -> np.ndarray:
        """The vectors of sentences."""
        from bertviz_core.sentences.encoding import sentence_vectors
        from bertviz_core.sentences.store.vectors import SentenceStore

        kept = SentenceStore(store, 10**9) if store is not None else None
        chosen = "bfloat16" if dtype == "bfloat16" else "float32"
        return sentence_vectors(self._loaded, self._tokenizer, sentences, self._plan, chosen, store=kept).vectors


def made_sentences(words: Sequence[str], count: int, middle: float) -> list[str]:
    """Artificial sentences of varied length, half of them shorter than the median, some several times as long."""
    rng = random.Random(0)
    lengths = [max(3, round(middle * rng.lognormvariate(0, 0.6))) for _ in range(count)]
    return [" ".join(rng.choices(words, k=length)) for length in lengths]
