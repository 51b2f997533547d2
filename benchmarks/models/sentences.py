"""Sentence vectors of the bundled model against encode of sentence-transformers; the second time from the store."""

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.device import finished, layer_products, share
from benchmarks.timing import Row, median_s, medians_s

SENTENCES = 2000
STORED = 5000
ROUNDS, TOGETHER = 5, 1024
"""Rounds of every work, and tokens that a matrix product takes together."""
PEER_BATCHES = {"cpu": (32,), "cuda": (32, 256, 1024)}
"""Kind of a device -> sentences per batch of the peer: its default, on a GPU larger ones too; the best counts."""


def rows() -> list[Row]:
    """Rows of the table for sentence vectors on a CPU; the peer runs with its own defaults."""
    ours, peer = OurModel("cpu"), PeerModel("cpu")
    sentences = made_sentences(peer.words, SENTENCES, 10)
    return [
        float32_row(ours, peer, sentences),
        bfloat16_row(ours, peer, sentences, 1.8),
        _stored(ours, made_sentences(peer.words, STORED, 7)),
    ]


def float32_row(ours: "OurModel", peer: "PeerModel", sentences: Sequence[str]) -> Row:
    """Both models in float32 on the same device."""
    ours_s, peer_s = _medians_s(ours, peer, sentences, "float32")
    worst = float(np.abs(ours.vectors(sentences) - peer.vectors(sentences)).max())
    least_s = median_s(finished(ours.products(sentences), ours.device), ROUNDS)
    beside = f"{len(sentences) / peer_s:.0f} {peer.title}: {peer_s / ours_s:.2f}x, off by {worst:.0e}"
    return Row(
        f"vectors of {len(sentences):,} sentences, float32",
        f"{len(sentences) / ours_s:.0f} a second",
        f"{beside}; {share(ours_s, least_s)}",
        ">= 1.0x, 1e-5",
        peer_s >= ours_s and worst <= 1e-5,
    )


def bfloat16_row(ours: "OurModel", peer: "PeerModel", sentences: Sequence[str], least: float) -> Row:
    """Our model in bfloat16, beside the peer in its own number format; cosines are those with ours in float32.

    Args:
        ours: our model.
        peer: the peer on the same device.
        sentences: the texts.
        least: how many times as fast as the peer ours has to be.
    """
    from bertviz_core.models.loading import device_kind, fast_formats

    work = "the same in bfloat16" + (", the peer in float16" if peer.dtype == "float16" else "")
    if "bfloat16" not in fast_formats(ours.device):
        processor = "CPU" if device_kind(ours.device) == "cpu" else "GPU"
        return Row(work, "not run", f"this {processor} has no bfloat16 of its own", "where it has", True)
    ours_s, peer_s = _medians_s(ours, peer, sentences, "bfloat16")
    cosine = float(np.einsum("nd,nd->n", ours.vectors(sentences, "bfloat16"), ours.vectors(sentences)).min())
    beside = f"{len(sentences) / peer_s:.0f} {peer.title}: {peer_s / ours_s:.2f}x, cosine >= {cosine:.5f}"
    met = peer_s >= least * ours_s and cosine >= 0.999
    return Row(work, f"{len(sentences) / ours_s:.0f} a second", beside, f">= {least}x, 0.999", met)


def _medians_s(ours: "OurModel", peer: "PeerModel", sentences: Sequence[str], dtype: str) -> tuple[float, float]:
    """Median seconds of both models, the peer's with its best size of a batch."""
    peer.choose_batch(sentences)
    return medians_s(
        finished(lambda: ours.vectors(sentences, dtype), ours.device),
        finished(lambda: peer.vectors(sentences), peer.device),
        ROUNDS,
    )


def _stored(ours: "OurModel", sentences: Sequence[str]) -> Row:
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


class PeerModel:
    """The bundled model in sentence-transformers."""

    def __init__(self, device: str, dtype: str = "float32") -> None:
        """Load it onto a device, in a number format by its name in torch."""
        import torch
        from sentence_transformers import SentenceTransformer

        from bertviz_core.models.catalog import bundled_folder
        from bertviz_core.models.loading import device_kind

        self.device, self.dtype = device, dtype
        self._model = SentenceTransformer(str(bundled_folder()), device=device).to(getattr(torch, dtype))
        self._sizes = PEER_BATCHES[device_kind(device)]
        self._size = self._sizes[0]

    @property
    def words(self) -> list[str]:
        """Words of its vocabulary, for made_sentences."""
        return sorted(word for word in self._model.tokenizer.get_vocab() if word.isalpha() and len(word) > 2)

    @property
    def title(self) -> str:
        """Its name, with what differs from its defaults."""
        size = "" if self._size == PEER_BATCHES["cpu"][0] else f", {self._size} at once"
        return f"sentence-transformers{'' if self.dtype == 'float32' else f' in {self.dtype}'}{size}"

    def choose_batch(self, sentences: Sequence[str]) -> None:
        """Choose the size of a batch with which these sentences take the least time."""
        if len(self._sizes) > 1:
            times = {}
            for size in self._sizes:
                self._size = size
                times[size] = median_s(finished(lambda: self.vectors(sentences), self.device), 1)
            self._size = min(times, key=lambda size: times[size])

    def vectors(self, sentences: Sequence[str]) -> np.ndarray:
        """The vectors of sentences."""
        return np.asarray(self._model.encode(list(sentences), batch_size=self._size))


class OurModel:
    """The bundled model and its plan, loaded once onto a device."""

    def __init__(self, device: str) -> None:
        from bertviz_core.models.loading import load_model
        from bertviz_core.models.sources import resolve
        from bertviz_core.sentences.plan import recommended
        from bertviz_core.settings import DEFAULT_MODEL, Settings
        from bertviz_core.trace.tokenization import load_tokenizer

        settings = replace(Settings.from_environment(), device=device)
        source = resolve(DEFAULT_MODEL, settings)
        self._plan = recommended(source, settings)
        self._loaded, self._tokenizer = load_model(source, settings), load_tokenizer(source, settings)
        self.device = device

    def products(self, sentences: Sequence[str]) -> Callable[[], None]:
        """The matrix products that the tokens of the sentences need in float32, without padding."""
        from bertviz_core.trace.tokenization import tokenize

        tokens = sum(len(tokenize(self._tokenizer, each)) for each in sentences)
        config, layers = self._loaded.model.config, self._loaded.num_hidden_layers * round(tokens / TOGETHER)
        return layer_products(config.hidden_size, config.intermediate_size, TOGETHER, layers, self.device)

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
