"""A corpus of short rows, embedded as the command does, against sentence-transformers on the same device."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.corpus.embedding import embedded, short_sentences, written
from benchmarks.device import agreement, finished
from benchmarks.models.sentences import PeerModel
from benchmarks.timing import Row, median_s
from bertviz_core.corpus.embedding import ROWS_PER_SHARD
from bertviz_core.corpus.folder import open_corpus

ROWS = 20_000
COMPARED = 1_000
"""Rows that the CPU embeds, too."""


def rows(device: str) -> list[Row]:
    """Rows of the table for a corpus in one process; rates are those after the model has been loaded."""
    sentences = short_sentences(ROWS)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts, few = (written(folder, sentences[:count]) for count in (ROWS, COMPARED))
        ours = embedded(folder, texts, "local", 1, None, ROWS_PER_SHARD, device)
        of_cpu = embedded(folder, few, "local", 1, None, ROWS_PER_SHARD, "cpu")
        found, expected = (np.array(open_corpus(each.folder).vectors()[:COMPARED]) for each in (ours, of_cpu))
    peer = PeerModel(device)
    peer.choose_batch(sentences[: ROWS // 10])
    rate = ROWS / median_s(finished(partial(peer.vectors, sentences), device), 1)
    growth = ours.growth_nbytes
    return [
        Row(
            f"{ROWS:,} short sentences as a corpus, one process",
            f"{ours.a_second:.0f} a second",
            f"{rate:.0f} {peer.title}: {ours.a_second / rate:.2f}x",
            ">= 1.0x",
            ours.a_second >= rate,
        ),
        Row("memory of that above its start", f"{growth / 1024**2:.0f} MiB", "", "<= 1.5 GB", growth <= 1.5e9),
        agreement(f"the first {COMPARED:,} vectors as stored, float16", [(found, expected)]),
    ]
