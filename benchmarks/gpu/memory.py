"""Memory that does not suffice ends in one sentence, and the next work goes on in what is left.

Of a GPU all but a little is filled with one tensor. The memory of a CPU is that of the whole machine and is not filled:
there the limit of the settings stands in for it, and the long text does not run.
"""

import gc
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.device import difference
from benchmarks.models.trace import CHECKPOINT, output_of
from benchmarks.timing import Row
from bertviz_core.errors import BertvizError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import device_kind, load_model
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import shortened
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

LEFT_NBYTES = 96 * 1024**2
"""Enough for a short text of the bundled model and for what the GPU's libraries take; too little for what follows."""
LARGE = CHECKPOINT.replace("vocab_size=1000", "vocab_size=1000, num_hidden_layers=24")
"""680 MB of weights; a run of 512 tokens keeps 150 MB."""
LONG = "one two three four " * 200
MOST_SHOWN = 80
"""Characters of a message in the table."""
SAME = 1e-5
"""Largest relative difference of a run from the same one before."""


def rows(device: str) -> list[Row]:
    """Rows of the table for memory that does not suffice."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(LARGE, folder)
        return [*_loads(Path(folder), device), _runs(Path(folder), device)]


def _loads(folder: Path, device: str) -> list[Row]:
    """A model that is too large for what is left, and a short text of the bundled model after it."""
    settings = replace(Settings.from_environment(any_folder=True), device=device)
    bundled = resolve(DEFAULT_MODEL, settings)
    model, tokens = load_model(bundled, settings), tokenize(load_tokenizer(bundled, settings), "He sat by the river.")
    expected, memory = trace(model, tokens).hidden_states, _held_nbytes(device)
    with little_memory(settings) as limited:
        end, sentence, met = _end(lambda: load_model(folder_source("large", folder), limited))
        found = trace(model, tokens).hidden_states
    off, more = difference(found, expected), _held_nbytes(device) - memory
    return [
        Row("load of a model of 680 MB where 100 MB are left", end, sentence, "one sentence", met),
        Row("a short text of the bundled model after it", f"off by {off:.0e}", "", f"<= {SAME:.0e}", off <= SAME),
        Row("memory that the failed load left behind", f"{more / 1e6:.1f} MB", "", "<= 1 MB", more <= 1e6),
    ]


def _runs(folder: Path, device: str) -> Row:
    """A text that is too long for what is left."""
    work = "run of 512 tokens that needs 150 MB where 100 MB are left"
    if device_kind(device) != "cuda":
        return Row(work, "not run", "the memory of a CPU is not filled", "on a GPU", True)
    settings = replace(Settings.from_environment(any_folder=True), device=device)
    source = folder_source("large", folder)
    model, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    trace(model, tokenize(tokenizer, "one two"))
    with little_memory(settings):
        end, sentence, met = _end(lambda: trace(model, tokenize(tokenizer, LONG)))
    trace(model, tokenize(tokenizer, LONG))  # the memory is free again
    return Row(work, end, sentence, "one sentence", met)


@contextmanager
def little_memory(settings: Settings) -> Iterator[Settings]:
    """Leave LEFT_NBYTES of a GPU's memory inside the block; on a CPU return settings with that limit for a model."""
    if device_kind(settings.device) != "cuda":
        yield replace(settings, max_model_bytes=LEFT_NBYTES)
        return
    gc.collect()  # modules and their hooks form reference cycles
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(settings.device)
    filler = torch.empty(max(0, free - LEFT_NBYTES), dtype=torch.uint8, device=settings.device)
    try:
        yield settings
    finally:
        del filler
        torch.cuda.empty_cache()


def _end(work: Callable[[], object]) -> tuple[str, str, bool]:
    """The error in which a work ends, the beginning of its message, and whether it is one line of the project's own."""
    try:
        work()
    except Exception as error:  # any that is none of the project's is what must not happen
        message = str(error)
        own = isinstance(error, BertvizError) and len(message.splitlines()) == 1
        return type(error).__name__, shortened(message.splitlines()[0], MOST_SHOWN), own
    return "no error", "", False


def _held_nbytes(device: str) -> int:
    """Memory of a GPU in which PyTorch has tensors; 0 for a CPU."""
    gc.collect()
    return int(torch.cuda.memory_allocated(device)) if device_kind(device) == "cuda" else 0
