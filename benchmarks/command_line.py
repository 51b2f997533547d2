"""Commands from start to end, each in a new process, as shares of the seconds in which Python imports torch.

Every round runs each of them once, so that all meet the same machine. The corpus has made vectors, in a temporary
folder; its texts are searched by the bundled model. What a command cannot do without, such as the import of
transformers' BERT where a model is run, is measured beside it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.timing import Row, all_medians_s
from bertviz_core.models.catalog import BUNDLED, SPLADE, WEIGHTS
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.made_corpora import made_corpus

ROUNDS = 7
ROWS, DIMENSIONS = 100_000, 384
TEXT = "The bank of the river was steep."
SHARES = {"help": 0.2, "parameters": 0.2, "tokens": 0.6, "predict": 1.8, "search": 1.5}
"""Command -> the largest share that is promised."""
LEAST = {
    **dict.fromkeys(("help", "parameters"), ("python", "Python alone")),
    "tokens": ("tokenizers", "import of transformers' AutoTokenizer"),
    **dict.fromkeys(("predict", "search"), ("bert", "import of transformers' BERT")),
}
"""Command -> what it cannot do without, and its name in the table."""
WORK = {
    "help": "--help",
    "parameters": "parameters of the bundled model",
    "tokens": "tokens of a text",
    "predict": "predict of the bundled masked LM",
    "search": f"corpus search of {ROWS:,} rows",
}


def rows() -> list[Row]:
    """Rows of the table for the command line."""
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus"
        sha = BUNDLED[DEFAULT_MODEL].digests[WEIGHTS]
        made_corpus(corpus, dimensions=DIMENSIONS, rows=ROWS, rows_per_shard=ROWS // 2, shards=2, weights_sha256=sha)
        works = {
            "torch": _run("-c", "import torch"),
            "python": _run("-c", "pass"),
            "tokenizers": _run("-c", "from transformers import AutoTokenizer"),
            "bert": _run("-c", "from transformers import BertForMaskedLM"),
            "help": _command("--help"),
            "parameters": _command("parameters", DEFAULT_MODEL),
            "tokens": _command("tokens", DEFAULT_MODEL, TEXT),
            "predict": _command("predict", SPLADE, "The capital of France is [MASK]."),
            "search": _command("corpus", "search", str(corpus), TEXT),
        }
        seconds = all_medians_s(works, ROUNDS)
    return [_row(name, seconds, most) for name, most in SHARES.items()]


def _row(name: str, seconds: Mapping[str, float], most: float) -> Row:
    share = seconds[name] / seconds["torch"]
    least, words = LEAST[name]
    beside = f"{seconds['torch']:.2f} s import torch: {share:.2f}x; {words} {seconds[least] / seconds['torch']:.2f}x"
    return Row(f"command line: {WORK[name]}", f"{seconds[name]:.2f} s", beside, f"<= {most}x", share <= most)


def _command(*arguments: str) -> Callable[[], object]:
    return _run("-m", "bertviz_core", *arguments)


def _run(*arguments: str) -> Callable[[], object]:
    """A process of Python without a network, which has to end well; byte code is kept, as where it is installed."""
    environment = {**os.environ, "INSIDE_BERT_ALLOW_HUB": "0", "PYTHONDONTWRITEBYTECODE": ""}
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
