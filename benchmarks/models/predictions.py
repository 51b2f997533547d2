"""Predictions of task heads: a masked text after an edit, the logit lens against its minimal work, a file of texts.

The weights are random, with the shapes of MiniLM and of BERT base: no time depends on their values.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.models.sentences import made_sentences
from benchmarks.timing import Row, all_medians_s, median_s, medians_s

if TYPE_CHECKING:
    from bertviz_core.predictions.run import HeadModel
    from bertviz_core.trace.tokenization import TextTokenizer

MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
EDITS, LENSES, FILES = 15, 3, 2
TOKENS = 512
TEXTS = 2000
TOGETHER = 64
"""Texts per batch of the peer; our batches have as many tokens as these on average."""
TOLERANCE = 1e-5


def rows() -> list[Row]:
    """Rows of the table for predictions."""
    return [_edit(), *_lens(), _file()]


def _edit() -> Row:
    """The best words of a masked text of 128 tokens, a new text each time, as on the page."""
    from bertviz_core.predictions.masked_lm import predicted_words
    from bertviz_core.trace.tokenization import tokenize

    with tempfile.TemporaryDirectory() as folder:
        head, tokenizer = opened_head(Path(folder), "BertForMaskedLM", **MINILM)
        texts = iter([f"[MASK] {number} " + "river bank " * 62 for number in range(10, EDITS + 12)])
        seconds = median_s(lambda: predicted_words(head, tokenizer, tokenize(tokenizer, next(texts))), EDITS)
    words = "words after an edit at 128 tokens, MiniLM shape, without the page"
    return Row(words, f"{seconds * 1000:.0f} ms", "", "<= 200 ms with the page", seconds <= 0.2)


def _lens() -> list[Row]:
    """The lens of a long text, against one run with all states and twelve products with the vocabulary matrix."""
    import torch

    from bertviz_core.predictions.masked_lm import logit_lens
    from bertviz_core.trace.tokenization import tokenize

    with tempfile.TemporaryDirectory() as folder:
        head, tokenizer = opened_head(Path(folder), "BertForMaskedLM")
        tokens = tokenize(tokenizer, "the river bank " * TOKENS)
        model: Any = head.model
        ids = torch.tensor(np.array(tokens.input_ids))[None]

        def least() -> None:
            with torch.inference_mode():
                for state in head.base.model(ids, output_hidden_states=True).hidden_states[1:]:
                    model.cls.predictions.decoder(state[0])

        def plain() -> None:
            with torch.inference_mode():
                states = head.base.model(ids, output_hidden_states=True).hidden_states[1:]
                last = model.cls(states[-1][0]).log_softmax(-1)
                for state in states:
                    logits = model.cls(state[0]).log_softmax(-1)
                    logits.topk(5)
                    (logits > logits.gather(1, ids[0][:, None])).sum(-1)
                    -(logits.exp() * logits).sum(-1)
                    (last.exp() * (last - logits)).sum(-1)

        works = {"ours": lambda: logit_lens(head, tokenizer, tokens), "least": least, "plain": plain}
        ours_s, least_s, plain_s = all_medians_s(works, LENSES).values()
        lens = logit_lens(head, tokenizer, tokens)
    arrays = (lens.top_ids, lens.top_log_probability, lens.rank, lens.log_probability, lens.entropy, lens.divergence)
    nbytes = sum(np.asarray(array).nbytes for array in arrays)
    ratio = ours_s / least_s
    beside = (
        f"{least_s:.2f} s one run and 12 products with the words' table: {ratio:.2f}x; {plain_s:.2f} s with "
        "best words, ranks, entropies and divergences by plain torch"
    )
    return [
        Row(f"lens of {TOKENS} tokens, BERT-base shape", f"{ours_s:.2f} s", beside, "<= 1.3x", ratio <= 1.3),
        Row("all its numbers", f"{nbytes / 1e6:.2f} MB", "813 MB all logits", "<= 1 MB", nbytes <= 1e6),
    ]


def _file() -> Row:
    """A list of texts through a classifier, against transformers' own pipeline."""
    import transformers

    from bertviz_core.predictions.classes import class_predictions
    from bertviz_core.trace.tokenization import tokenize

    with tempfile.TemporaryDirectory() as folder:
        head, tokenizer = opened_head(Path(folder), "BertForSequenceClassification", **MINILM)
        words = sorted(word for word in tokenizer.tokenizer.get_vocab() if word.isalpha() and len(word) > 2)
        texts = made_sentences(words, TEXTS, 10)
        peer: Callable[..., Any] = transformers.pipeline("text-classification", folder, device="cpu", top_k=None)

        def ours() -> Any:
            return class_predictions(head, [tokenize(tokenizer, text) for text in texts])

        def theirs() -> Any:
            return peer(texts, batch_size=TOGETHER)

        ours_s, theirs_s = medians_s(ours, theirs, FILES)
        worst = _worst(ours(), theirs())
    details = f"{TEXTS / theirs_s:.0f} transformers' pipeline, {TOGETHER} at once: {theirs_s / ours_s:.2f}x"
    met = theirs_s >= ours_s and worst <= TOLERANCE
    words = f"classes of {TEXTS:,} texts, MiniLM shape"
    return Row(words, f"{TEXTS / ours_s:.0f} a second", f"{details}, off by {worst:.0e}", ">= 1.0x, 1e-5", met)


def _worst(ours: Sequence[Any], theirs: Sequence[Sequence[dict[str, Any]]]) -> float:
    """The largest difference between probabilities of the same class."""
    pairs = zip(ours, theirs, strict=True)
    return max(
        abs(float(own.probabilities[own.labels.index(each["label"])]) - each["score"])
        for own, rows in pairs
        for each in rows
    )


def opened_head(folder: Path, class_name: str, device: str = "cpu", **shape: int) -> "tuple[HeadModel, TextTokenizer]":
    """Save a model with random weights, the same on every device, and open it like any other."""
    from bertviz_core.models.sources import folder_source
    from bertviz_core.predictions.run import load_head
    from bertviz_core.settings import Settings
    from bertviz_core.trace.tokenization import load_tokenizer

    saved(folder, class_name, **shape)
    settings = replace(Settings.from_environment(any_folder=True), device=device)
    source = folder_source("made", folder)
    return load_head(source, settings), load_tokenizer(source, settings)


def saved(folder: Path, class_name: str, **shape: int) -> None:
    """Save a model with random weights and the bundled model's vocabulary."""
    import torch
    import transformers

    from bertviz_core.models.sources import bundled_folder

    torch.manual_seed(0)
    getattr(transformers, class_name)(transformers.BertConfig(**shape)).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(bundled_folder()).save_pretrained(folder)
