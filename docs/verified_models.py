"""Compare real checkpoints of the Hub with what defines them, and write docs/verified-models.md: `make verify-models`.

A network job: it downloads every model, about 40 GB. Each row says what was found, or the sentence of a refusal.
"""

import datetime
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import huggingface_hub
import numpy as np
from huggingface_hub.errors import HfHubHTTPError
from tokenizers import Tokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.models import catalog
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.settings import Settings

DOCUMENT = Path(__file__).with_name("verified-models.md")
HEAD = """# Checkpoints that were verified

Written by `make verify-models`, a job that needs a network: it downloads the catalogue and much used models of the Hub,
and compares each with what defines it. Do not edit.

* **tokens**: whether the tokens of {texts} texts are those of the checkpoint's own tokenizer.json.
* **cosine**: the least cosine of their sentence vectors with those of sentence-transformers; "-" for other models.
* **parameters**: whether as many numbers are counted in the files as the Hub counts.

| model | revision | tokens | cosine | parameters | date |
| --- | --- | --- | --- | --- | --- |
"""
EMPTY = "\nNo row: nobody with a network has run the job on this version yet.\n"
TEXTS = (
    "The bank raised its interest rates.",
    "We sat on the bank of the river, and it rained.",
    "How do I reset my password?",
    "Ein Satz auf Deutsch: Straßen, Äpfel und Öl.",
    "Une phrase en français, où l'été a déjà commencé.",
    "これは日本語の文です。",
    "这是一个中文句子。",
    "A number, 1,234.56, an e-mail, a@b.example, and   three spaces.",
    "café, naïve, and a family: 👩‍👩‍👧",
    "transformers is a library; BERT is an encoder.",
    "",
)
FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
"""The files that are downloaded: no code, and no weights in other formats."""
MUCH_USED = (
    "sentence-transformers/all-mpnet-base-v2",
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "BAAI/bge-small-en-v1.5",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-m3",
    "BAAI/bge-reranker-v2-m3",
    "intfloat/e5-base-v2",
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-large",
    "nomic-ai/nomic-embed-text-v1.5",
    "nomic-ai/modernbert-embed-base",
    "mixedbread-ai/mxbai-embed-large-v1",
    "thenlper/gte-base",
    "Alibaba-NLP/gte-base-en-v1.5",
    "Alibaba-NLP/gte-multilingual-base",
    "Alibaba-NLP/gte-modernbert-base",
    "Snowflake/snowflake-arctic-embed-m",
    "Snowflake/snowflake-arctic-embed-m-v2.0",
    "Snowflake/snowflake-arctic-embed-l-v2.0",
    "jinaai/jina-embeddings-v2-base-en",
    "ibm-granite/granite-embedding-english-r2",
    "Qwen/Qwen3-Embedding-0.6B",
    "Qwen/Qwen3-Reranker-0.6B",
    "google/embeddinggemma-300m",
    "minishlab/potion-base-8M",
    "sentence-transformers/static-retrieval-mrl-en-v1",
    "cross-encoder/ms-marco-MiniLM-L6-v2",
    "opensearch-project/opensearch-neural-sparse-encoding-doc-v2-distill",
    "lightonai/GTE-ModernColBERT-v1",
    "jhu-clsp/ettin-encoder-150m",
    "EuroBERT/EuroBERT-210m",
    "dslim/bert-base-NER",
)


@dataclass(frozen=True)
class Verified:
    """What was found of one checkpoint; `refusal` is empty where it opened."""

    hub_id: str
    revision: str = ""
    tokens: str = "-"
    cosine: str = "-"
    parameters: str = "-"
    refusal: str = ""

    def row(self, date: datetime.date) -> str:
        """The line of the table."""
        found = (self.tokens, self.cosine, self.parameters) if not self.refusal else (self.refusal, "-", "-")
        return f"| {self.hub_id} | {self.revision[:12]} | {' | '.join(found)} | {date.isoformat()} |\n"


def verified(hub_id: str, endpoint: str) -> Verified:
    """Download one checkpoint, and compare its tokens, sentence vectors and number of parameters."""
    row = Verified(hub_id)
    try:
        about = huggingface_hub.HfApi(endpoint=endpoint).model_info(hub_id)
        row = replace(row, revision=about.sha or "")
        place = huggingface_hub.snapshot_download(
            hub_id,
            revision=about.sha,
            endpoint=endpoint,
            allow_patterns=FILES,
            ignore_patterns=["onnx/*", "openvino/*"],
        )
        folder = Path(place)
        total = about.safetensors.total if about.safetensors else None
        return replace(row, tokens=_tokens(folder), cosine=_cosine(folder), parameters=_parameters(folder, total))
    except (BertvizError, HfHubHTTPError, OSError) as error:
        return replace(row, refusal=" ".join(str(error).split()).replace("|", "/"))


def _tokens(folder: Path) -> str:
    files = sorted(folder.rglob("tokenizer.json"))
    if not files:
        return "no tokenizer.json"
    own, model = Tokenizer.from_file(str(files[0])), open_model(folder)
    own.no_padding()
    own.no_truncation()
    differ = sum(own.encode(text).ids != list(model.tokens(text).data.input_ids) for text in TEXTS)
    return "equal" if not differ else f"{differ} of {len(TEXTS)} texts differ"


def _cosine(folder: Path) -> str:
    if not (folder / "modules.json").exists():
        return "-"
    from sentence_transformers import SentenceTransformer

    texts = [text for text in TEXTS if text]
    theirs = np.asarray(SentenceTransformer(str(folder), device="cpu").encode(texts), dtype=np.float64)
    ours = np.asarray(open_model(folder).sentences(texts).vectors, dtype=np.float64)
    if ours.shape != theirs.shape:
        return f"{ours.shape[1]:,} dimensions, there {theirs.shape[1]:,}"
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return f"{float(((ours * theirs).sum(axis=1) / lengths).min()):.7f}"


def _parameters(folder: Path, hub: int | None) -> str:
    if hub is None:
        return "the Hub counts none"
    weights = next(iter(sorted(folder.rglob("*.safetensors")))).parent
    count = sum(math.prod(tensor.shape) for tensor in read_header(weights).tensors)
    return f"{count:,}, equal" if count == hub else f"{count:,}, the Hub {hub:,}"


def document(rows: Iterable[str] = ()) -> str:
    """The text of the document."""
    body = "".join(rows)
    return HEAD.format(texts=len(TEXTS)) + (body or EMPTY)


def rows(hub_ids: Sequence[str], endpoint: str) -> Iterator[str]:
    """The lines of the table, each as soon as its model is verified."""
    for hub_id in hub_ids:
        row = verified(hub_id, endpoint).row(datetime.datetime.now(datetime.UTC).date())
        sys.stderr.write(row)
        yield row


def main() -> None:
    """Verify the catalogue and the much used models."""
    own = [entry.hub_id for entry in catalog.entries().values()]
    every = list(dict.fromkeys((*own, *MUCH_USED)))
    DOCUMENT.write_text(document(rows(every, Settings.from_environment().hub_endpoint)), encoding="utf-8")


if __name__ == "__main__":
    main()
