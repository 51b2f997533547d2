"""A run and the attention of all heads: against eager attention and the page of BertViz on the same device.

The weights are random, with the shape of BERT base: no time depends on their values.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.device import agreement, finished
from benchmarks.models import trace
from benchmarks.pages.model_view import TOKENS, model_view
from benchmarks.timing import Row, duration, median_s
from bertviz_core import open_model
from bertviz_core.attention.atlas import attention_atlas
from bertviz_core.attention.maps import attention_probs
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace as run
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

WORDS = "one two three four " * 200
"""Words of the vocabulary of the made model, more than it has positions."""
PAGES = 3


def rows(device: str) -> list[Row]:
    """Rows of the table for a run and the attention of all heads."""
    with tempfile.TemporaryDirectory() as folder:
        trace.output_of(trace.CHECKPOINT, folder)
        return [*trace.rows(device), *_agreements(folder, device), *_pages(folder, device)]


def _agreements(folder: str, device: str) -> list[Row]:
    """The numbers of a run of 512 tokens beside those of the CPU."""
    found, expected = _traced(folder, device), _traced(folder, "cpu")
    layers = range(expected.num_hidden_layers)
    maps = ((attention_probs(found, layer), attention_probs(expected, layer)) for layer in layers)
    atlas, same = attention_atlas(found), attention_atlas(expected)
    return [
        agreement("all hidden states", zip(found.hidden_states, expected.hidden_states, strict=True)),
        agreement("the attention of all heads", maps),
        agreement("the atlas", [(atlas.thumbnails, same.thumbnails), (atlas.measures.entropy, same.measures.entropy)]),
    ]


def _traced(folder: str, device: str) -> Trace:
    settings = replace(Settings.from_environment(any_folder=True), device=device)
    source = folder_source("base", Path(folder))
    return run(load_model(source, settings), tokenize(load_tokenizer(source, settings), WORDS))


def _pages(folder: str, device: str) -> list[Row]:
    """From a text to the HTML with all heads, ours with thumbnails of at most 64 x 64 cells, BertViz's with all."""
    peer = model_view(folder, device)
    page = _page(folder, device)
    # Answers are cached, so every text is another; the first is slower, since the attention of a new model is checked.
    texts = iter([" ".join((["one"] * repeated + WORDS.split())[: TOKENS - 2]) for repeated in range(PAGES + 2)])
    megabytes = len(page(next(texts))) / 1e6
    ours_s, peer_s = median_s(finished(lambda: page(next(texts)), device), PAGES), peer.run_s + peer.write_s
    beside = f"{duration(peer_s)} BertViz's model_view, of that {duration(peer.run_s)} the run: {ours_s / peer_s:.2f}x"
    work = f"a text of {TOKENS} tokens to the HTML with all 144 heads, BERT-base shape"
    ratio = megabytes / peer.megabytes
    return [
        Row(work, duration(ours_s), beside, "<= 1.0x", ours_s <= peer_s),
        Row("its size", f"{megabytes:.1f} MB", f"{peer.megabytes:.1f} MB BertViz: {ratio:.2f}x", "<= 1.0x", ratio <= 1),
    ]


def _page(folder: str, device: str) -> Callable[[str], str]:
    """From a text to the HTML of its atlas, by the public library."""
    model = open_model(folder, device=device)
    return lambda text: str(model.trace(text).figure("atlas").to_html(include_plotlyjs="cdn"))
