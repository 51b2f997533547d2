"""A corpus of any size made by templates, seeded: `python -m tests.helpers.template_corpus FOLDER --rows 1000000`.

The texts are filled-in templates about eight topics. A row's vector is that of its template plus seeded noise, with
norm 1; the templates' vectors are sums of seeded directions of their parts, or, with `--embed`, those of the bundled
model. So neighbours, clusters, repeated rows and searches are meaningful, and a million rows take a minute. The
manifest has "made by templates" as its input: a model reads only the templates themselves.
"""

import argparse
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from bertviz_core.corpus.folder import Corpus, open_corpus, shard_path, write_vectors
from bertviz_core.corpus.manifest import write_manifest
from bertviz_core.corpus.results import CorpusColumn, Manifest
from bertviz_core.corpus.writing import write_table
from bertviz_core.models.catalog import BUNDLED
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.folder import SINGLE_FILE
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.tables.results import InputFile
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.made_corpora import MANIFEST

TOPICS = {
    "weather": ("storm", "rain", "fog", "frost", "heat wave", "wind"),
    "cooking": ("soup", "bread", "sauce", "roast", "salad", "cake"),
    "music": ("pianist", "choir", "violin", "drummer", "opera", "song"),
    "sport": ("striker", "runner", "team", "referee", "swimmer", "coach"),
    "travel": ("train", "ferry", "hotel", "airport", "road", "guide"),
    "money": ("bank", "budget", "loan", "market", "tax", "wage"),
    "health": ("doctor", "nurse", "fever", "clinic", "vaccine", "diet"),
    "school": ("teacher", "exam", "pupil", "lesson", "library", "degree"),
}
VERBS = ("surprised everyone", "was late again", "did not last", "was better than before", "is not what it was")
TIMES = ("this morning", "last night", "in the spring", "on Sunday", "all week", "in the end")
PLACES = ("Lima", "Oslo", "Cairo", "Osaka", "Leeds", "Perth", "Quito", "Turin", "Accra", "Minsk", "Hanoi", "Porto")
SOURCES = ("letters", "news", "forum")
DIMENSIONS, PER_SHARD, NOISE = 384, 50_000, 0.35
"""Norm of the noise added to a template's vector of norm 1."""
REPEATED = 0.01
"""Share of rows that repeat the previous row, text and vector."""


def templates() -> list[tuple[str, str]]:
    """(topic, sentence) of every template."""
    parts = itertools.product(((topic, word) for topic, words in TOPICS.items() for word in words), VERBS, TIMES)
    return [(topic, f"The {word} {verb} {time}") for (topic, word), verb, time in parts]


def seeded_vectors(seed: int) -> Float[np.ndarray, "templates dimensions"]:
    """A vector for every template: the sum of directions of topic, word, verb and time, the topic's weighted most."""
    rng = np.random.default_rng(seed)

    def directions(count: int) -> np.ndarray:
        return rng.standard_normal((count, DIMENSIONS)).astype(np.float32) / np.float32(np.sqrt(DIMENSIONS))

    words = sum(map(len, TOPICS.values()))
    topic, word = np.repeat(directions(len(TOPICS)), words // len(TOPICS), axis=0), directions(words)
    subject = (1.5 * topic + word)[:, None, None]
    vectors = subject + 0.5 * directions(len(VERBS))[None, :, None] + 0.5 * directions(len(TIMES))[None, None]
    return _unit(vectors.reshape(-1, DIMENSIONS))


def embedded_vectors() -> Float[np.ndarray, "templates dimensions"]:
    """The vectors of all templates by the bundled model."""
    settings = Settings.from_environment(any_folder=True)
    source = resolve(DEFAULT_MODEL, settings)
    texts = [f"{sentence}." for _, sentence in templates()]
    model, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    return _unit(sentence_vectors(model, tokenizer, texts, recommended(source, settings)).vectors)


def make_corpus(
    folder: Path,
    rows: int,
    vectors: Float[np.ndarray, "templates dimensions"],
    seed: int = 0,
    per_shard: int = PER_SHARD,
) -> Corpus:
    """Write a corpus; one shard is in memory at a time.

    Args:
        folder: the new folder.
        rows: number of rows.
        vectors: vectors of the templates.
        seed: seed of templates, places and noise.
        per_shard: most rows of a shard.
    """
    (folder / "shards").mkdir(parents=True)
    rng, known = np.random.default_rng(seed), templates()
    for shard in range(-(-rows // per_shard)):
        count = min(per_shard, rows - shard * per_shard)
        chosen, places = rng.integers(len(known), size=count), rng.integers(len(PLACES), size=count)
        days, sources = rng.integers(1, 29, size=count), rng.integers(len(SOURCES), size=count)
        noise = rng.standard_normal((count, vectors.shape[1]), dtype=np.float32) * (NOISE / np.sqrt(vectors.shape[1]))
        made = _unit(vectors[chosen] + noise.astype(np.float32))
        before = np.arange(count)
        again = np.flatnonzero(rng.random(count - 1) < REPEATED) + 1
        before[again] -= 1
        chosen, places, days, made = chosen[before], places[before], days[before], made[before]
        texts = [
            f"{known[template][1]} in {PLACES[place]} on day {day}."
            for template, place, day in zip(chosen.tolist(), places.tolist(), days.tolist(), strict=True)
        ]
        table = {
            "topic": pa.array([known[template][0] for template in chosen.tolist()]),
            "place": pa.array([PLACES[place] for place in places.tolist()]),
            "source": pa.array([SOURCES[source] for source in sources.tolist()]),
            "day": pa.array(days),
            "text": pa.array(texts),
            "tokens": pa.array([len(text.split()) + 3 for text in texts], pa.int32()),
            "truncated": pa.array(np.zeros(count, dtype=bool)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(made.astype(np.float16).ravel()), made.shape[1]),
        }
        write_table(shard_path(folder, shard), pa.table(table))
    write_manifest(folder, replace(_manifest(vectors.shape[1]), rows=rows, rows_per_shard=per_shard, shards=shard + 1))
    corpus = open_corpus(folder)
    write_vectors(corpus)
    return corpus


def _manifest(dimensions: int) -> Manifest:
    digest = BUNDLED[DEFAULT_MODEL].digests[SINGLE_FILE]
    texts = tuple(CorpusColumn(name, name, "text") for name in ("topic", "place", "source"))
    return replace(
        MANIFEST,
        code_version="templates",
        revision=digest[:12],
        weights_sha256=digest,
        dimensions=dimensions,
        inputs=(InputFile("made by templates", 0, "sha256:0"),),
        input_column="text",
        columns=(*texts, CorpusColumn("day", "day", "number")),
    )


def _unit(vectors: Float[np.ndarray, "rows dimensions"]) -> Float[np.ndarray, "rows dimensions"]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


def main() -> None:
    """Write the corpus of the command's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.helpers.template_corpus", description=str(__doc__).split("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--embed", action="store_true", help="the bundled model embeds the templates")
    args = parser.parse_args()
    make_corpus(args.folder, args.rows, embedded_vectors() if args.embed else seeded_vectors(args.seed), args.seed)


if __name__ == "__main__":
    main()
