"""Two models on many texts against both alone, and the memory of a text followed through twenty checkpoints.

The weights are random: no time depends on their values. The device is the processor.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.models.predictions import MINILM, saved
from benchmarks.models.sentences import made_sentences
from benchmarks.timing import PEAK, Row, medians_s

ANSWERED, ENCODED, CHECKPOINTS, ROUNDS = 2_000, 1_000, 20, 2
DEEP = {**MINILM, "num_hidden_layers": 12}
"""As many layers as BERT base, at the width of MiniLM: 13 hidden states."""
MODEL_MB, ABOVE_MB = 438, 400
"""Weights of BERT base in float32, and what may come on top of one model in memory."""
FOLLOWED = """
import json, sys
from bertviz_core import open_training
import torch, transformers.models.bert.modeling_bert
training = open_training(sys.argv[1])
before = peak()
followed = training.follow("The river bank was steep.", pair="He took money from the bank.")
print(json.dumps([peak() - before, len(followed.to_pandas())]))
"""


def rows() -> list[Row]:
    """Rows of the table for two models; models are loaded anew in every run, on both sides."""
    with tempfile.TemporaryDirectory() as place:
        return [_answers(Path(place)), _layers(Path(place)), _followed(Path(place) / "run")]


def _answers(place: Path) -> Row:
    """Answers of two classifiers to a list, against the answers of each."""
    from bertviz_core.questions.parameters import Options
    from bertviz_core.questions.predictions.labelled_texts import text_answers
    from bertviz_core.questions.predictions.two_models import compared_answers, compared_options

    one, two = (_saved(place / name, "BertForSequenceClassification", **MINILM) for name in ("one", "two"))
    texts = _texts(ANSWERED)
    both_s, alone_s = medians_s(
        lambda: compared_answers(one(), compared_options(str(place / "two"), texts)),
        lambda: [text_answers(each(), Options(tuple(texts))) for each in (one, two)],
        ROUNDS,
    )
    return _row(f"answers of two models to {ANSWERED:,} texts, MiniLM shape", both_s, alone_s, 1.05)


def _layers(place: Path) -> Row:
    """CKA of all layers of two models, against the vectors of each."""
    from bertviz_core.predictions.probing.scores import layer_vectors
    from bertviz_core.questions.models.checkpoints import OTHER, layer_similarity
    from bertviz_core.questions.parameters import Options

    first, second = (_saved(place / name, "BertModel", **DEEP) for name in ("first", "second"))
    texts = tuple(_texts(ENCODED))
    options = Options(texts, values={OTHER.key: str(place / "second")})

    def alone() -> None:
        for opened in (first(), second()):
            layer_vectors(opened.loaded, opened.tokenizer, texts, "mean", None)

    both_s, alone_s = medians_s(lambda: layer_similarity(first(), options), alone, ROUNDS)
    return _row(f"CKA of 13 x 13 layers over {ENCODED:,} sentences, 384 wide", both_s, alone_s, 1.3)


def _followed(run: Path) -> Row:
    """A pair followed through checkpoints of BERT-base shape, all links to one file."""
    saved(run / "checkpoint-1", "BertModel")
    for step in range(2, CHECKPOINTS + 1):
        (run / f"checkpoint-{step}").mkdir()
        for file in (run / "checkpoint-1").iterdir():
            os.link(file, run / f"checkpoint-{step}" / file.name)
    command = [sys.executable, "-c", PEAK + FOLLOWED, str(run)]
    extra_mb, steps = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    words = f"extra memory of a pair followed through {CHECKPOINTS} checkpoints of BERT-base shape"
    met = extra_mb <= MODEL_MB + ABOVE_MB and steps >= CHECKPOINTS
    return Row(words, f"{extra_mb:.0f} MB", f"{MODEL_MB} MB one model", f"<= {ABOVE_MB} MB above it", met)


def _row(work: str, both_s: float, alone_s: float, most: float) -> Row:
    ratio = both_s / alone_s
    return Row(work, f"{both_s:.1f} s", f"{alone_s:.1f} s both alone: {ratio:.2f}x", f"<= {most:g}x", ratio <= most)


def _saved(folder: Path, class_name: str, **shape: int) -> Callable[[], Any]:
    """Save a model; returns what opens it anew."""
    from bertviz_core.questions.opened import OpenedModel
    from bertviz_core.settings import Settings

    saved(folder, class_name, **shape)
    return lambda: OpenedModel(str(folder), Settings.from_environment(any_folder=True), device="cpu")


def _texts(count: int) -> list[str]:
    import transformers

    from bertviz_core.models.catalog import bundled_folder

    words = transformers.AutoTokenizer.from_pretrained(bundled_folder()).get_vocab()
    return made_sentences(sorted(word for word in words if word.isalpha() and len(word) > 2), count, 10)
