"""A corpus has the Sentences page's vectors of its texts, for any runner and after any interruption.

Covers `bertviz_core/corpus/shards.py`, `bertviz_core/corpus/writing.py`,
`bertviz_core/corpus/runners/processes.py`.
"""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import BertModel

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.folder import VECTORS_FILE, open_corpus
from bertviz_core.corpus.manifest import read_manifest
from bertviz_core.corpus.results import Manifest, ShardOutcome, ShardRows
from bertviz_core.corpus.runners import processes
from bertviz_core.corpus.shards import ShardWork, embed_shard, embed_shards
from bertviz_core.corpus.writing import only_writer, write_whole
from bertviz_core.errors import CorpusError, TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import SentenceRun, sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import FILLERS, HIDDEN, LAYERS, WORDS, save_tiny

ROWS, PER_SHARD = 47, 10
PLAIN = EmbeddingOptions(vector_dtype="float32", rows_per_shard=PER_SHARD)
TEXTS = [
    " ".join((*WORDS[:9], *FILLERS)[(row * 7 + place) % 26] for place in range(1 + row * 5 % 31)) for row in range(ROWS)
]


@pytest.fixture
def here(tmp_path: Path, settings: Settings) -> Settings:
    """Settings with a tiny model named "mine"."""
    save_tiny("bert", settings.models_dir / "mine")
    return settings


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """An input: texts of varied length, a repeated one, and a column."""
    path = tmp_path / "rows.parquet"
    table = {"id": list(range(ROWS)), "text": [*TEXTS[:-1], TEXTS[3]], "kind": ["ab"[row % 2] for row in range(ROWS)]}
    pq.write_table(pa.table(table), path)
    return path


def embedded(rows: Path, folder: Path, here: Settings, options: EmbeddingOptions = PLAIN, **more: Any) -> Manifest:
    return embed_corpus("mine", str(rows), folder, here, options, more.pop("runner", embed_shards), **more)


def pages_vectors(rows: Path, here: Settings) -> np.ndarray:
    """Vectors of the Sentences page for the same texts."""
    source = resolve("mine", here)
    texts = pq.read_table(rows)["text"].to_pylist()
    loaded, tokenizer = load_model(source, here), load_tokenizer(source, here)
    return sentence_vectors(loaded, tokenizer, texts, recommended(source, here)).vectors


@pytest.mark.slow
def test_vectors_are_those_of_the_sentences_page(rows: Path, tmp_path: Path, here: Settings) -> None:
    messages: list[str] = []
    recorded: list[tuple[int, int]] = []
    manifest = embedded(
        rows,
        tmp_path / "out",
        here,
        progress=lambda done, total: recorded.append((done, total)),
        notify=messages.append,
    )
    corpus = open_corpus(tmp_path / "out")
    assert corpus.manifest == manifest
    assert (manifest.rows, manifest.dimensions, manifest.layer, manifest.shards) == (ROWS, HIDDEN, LAYERS, 5)
    expected = pages_vectors(rows, here)
    np.testing.assert_allclose(corpus.vectors(), expected, rtol=0, atol=1e-6)
    assert corpus.column("text").to_pylist() == [*TEXTS[:-1], TEXTS[3]]
    assert corpus.column("id").to_pylist() == list(range(ROWS))
    assert corpus.mask("kind=a").tolist() == [row % 2 == 0 for row in range(ROWS)]
    assert corpus.column("truncated").to_pylist() == [
        len(text.split()) > 27 for text in corpus.column("text").to_pylist()
    ]
    assert recorded == [(done, ROWS) for done in (0, 10, 20, 30, 40, 47)]
    assert len(set(messages)) == len(messages)
    half = embedded(rows, tmp_path / "half", here, replace(PLAIN, vector_dtype="float16", rows_per_shard=17))
    vectors = open_corpus(tmp_path / "half").vectors()
    assert (half.shards, vectors.dtype) == (3, np.float16)
    np.testing.assert_allclose(vectors, expected.astype(np.float16), rtol=2e-3, atol=1e-6)


def test_texts_may_be_left_out(rows: Path, tmp_path: Path, here: Settings) -> None:
    manifest = embedded(rows, tmp_path / "out", here, replace(PLAIN, keep_text=False))
    corpus = open_corpus(tmp_path / "out")
    assert manifest.text_column is None
    assert list(corpus.columns) == ["id", "kind", "tokens", "truncated"]
    assert not any(b"river bank" in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())


def killing(work: ShardWork, shard: ShardRows) -> ShardOutcome:
    """End the process when it first gets shard 2."""
    mark = work.folder / "shards" / "killed"
    if shard.index == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return embed_shard(work, shard)


def always_killing(work: ShardWork, shard: ShardRows) -> ShardOutcome:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.slow
def test_processes_make_the_same_corpus_though_one_is_killed(
    rows: Path, tmp_path: Path, here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = embedded(rows, tmp_path / "one", here)
    monkeypatch.setattr(processes, "embed_shard", killing)
    assert embedded(rows, tmp_path / "two", here, runner=partial(processes.run, count=2)) == alone
    assert (tmp_path / "two" / "shards" / "killed").exists()
    first, second = open_corpus(tmp_path / "one"), open_corpus(tmp_path / "two")
    np.testing.assert_allclose(second.vectors(), first.vectors(), rtol=0, atol=1e-6)
    for name in first.columns:
        assert second.column(name).equals(first.column(name))


@pytest.mark.slow
def test_processes_that_are_always_killed_are_told(
    rows: Path, tmp_path: Path, here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "embed_shard", always_killing)
    monkeypatch.setattr(processes, "MOST_BREAKS", 1)
    with pytest.raises(CorpusError, match="killed 1 times .* 5 shards are left"):
        embedded(rows, tmp_path / "out", here, runner=partial(processes.run, count=1))


class Stopped(Exception):
    """Raised to interrupt the work."""


def stopping(work: ShardWork, shards: Sequence[ShardRows], after: int = 2) -> Iterator[ShardOutcome]:
    """The local runner, interrupted after some shards."""
    for shard in shards[:after]:
        yield embed_shard(work, shard)
    raise Stopped


@pytest.mark.slow
def test_what_was_broken_off_goes_on_and_ends_equal(rows: Path, tmp_path: Path, here: Settings) -> None:
    whole = embedded(rows, tmp_path / "whole", here)
    with pytest.raises(Stopped):
        embedded(rows, tmp_path / "out", here, runner=stopping)
    (tmp_path / "out" / "shards" / f"part-00002.parquet.{'0' * 16}.part").write_bytes(b"half")
    with pytest.raises(CorpusError, match="is not finished: 2 of its 5 shards"):
        open_corpus(tmp_path / "out")
    made: list[int] = []

    def noting(work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
        made.extend(shard.index for shard in shards)
        return embed_shards(work, shards)

    assert embedded(rows, tmp_path / "out", here, runner=noting) == whole
    assert made == [2, 3, 4]
    for name in (VECTORS_FILE, "manifest.json", "shards/part-00003.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "out" / "shards").iterdir()) == [
        f"part-0000{index}.parquet" for index in range(5)
    ]
    messages: list[str] = []
    assert embedded(rows, tmp_path / "out", here, runner=stopping, notify=messages.append) == whole
    assert any("complete already" in notice for notice in messages)


@pytest.mark.slow
def test_another_input_model_or_choice_is_told(rows: Path, tmp_path: Path, here: Settings) -> None:
    with pytest.raises(Stopped):
        embedded(rows, tmp_path / "out", here, runner=stopping)
    for options, words in [
        (replace(PLAIN, pooling="max"), "another pooling"),
        (replace(PLAIN, layer=1), "another layer"),
        (replace(PLAIN, vector_dtype="float16"), "number format of the vectors"),
        (replace(PLAIN, keep_text=False), "whether texts are kept"),
        (replace(PLAIN, rows_per_shard=11), "count of rows in a shard"),
        (replace(PLAIN, column="kind"), "another column"),
    ]:
        with pytest.raises(CorpusError, match=words):
            embedded(rows, tmp_path / "out", here, options)
    save_tiny("bert", here.models_dir / "other", num_hidden_layers=2)
    with pytest.raises(CorpusError, match="another model"):
        embed_corpus("other", str(rows), tmp_path / "out", here, PLAIN, embed_shards)
    pq.write_table(pa.table({"id": [1], "text": ["my pet"], "kind": ["a"]}), rows)
    with pytest.raises(CorpusError, match="its input has changed"):
        embedded(rows, tmp_path / "out", here)


def test_an_input_that_changes_meanwhile_leaves_no_corpus(rows: Path, tmp_path: Path, here: Settings) -> None:
    def changing(work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
        yield from embed_shards(work, shards)
        pq.write_table(pq.read_table(rows).slice(0, 46), rows)

    with pytest.raises(CorpusError, match="changed while it was embedded"):
        embedded(rows, tmp_path / "out", here, runner=changing)
    assert not read_manifest(tmp_path / "out").complete


def test_a_folder_of_something_else_is_refused(rows: Path, tmp_path: Path, here: Settings) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(CorpusError, match="is not empty and no corpus \\('thesis.txt' is in it\\)"):
        embedded(rows, tmp_path / "full", here)
    with pytest.raises(CorpusError, match="is no folder"):
        embedded(rows, rows, here)
    with pytest.raises(TextError, match="no layer 9"):
        embedded(rows, tmp_path / "new", here, replace(PLAIN, layer=9))
    assert not (tmp_path / "new").exists()


HOLD = """
import signal, sys
from pathlib import Path
from bertviz_core.corpus.writing import only_writer
with only_writer(Path(sys.argv[1])):
    print("held", flush=True)
    signal.pause()
"""


@pytest.mark.slow
def test_two_writers_are_told_and_a_dead_one_holds_nothing(rows: Path, tmp_path: Path, here: Settings) -> None:
    (tmp_path / "out").mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "out")], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(CorpusError, match="Another process is writing to"):
            embedded(rows, tmp_path / "out", here)
        other.kill()
    embedded(rows, tmp_path / "out", here)
    with only_writer(tmp_path / "out"):
        pass


@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_nothing_half(
    rows: Path, tmp_path: Path, here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(CorpusError, match="There is no room for .*same command resumes"):
        write_whole(tmp_path / "a", full)
    assert [path.name for path in tmp_path.glob("a*")] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"
    command = [sys.executable, "-m", "bertviz_core", "corpus", "embed", "mine", str(rows), "-o", str(tmp_path / "out")]
    limited = ["bash", "-c", 'ulimit -f 2; exec "$@"', "limited", *command]
    variables = {**os.environ, "INSIDE_BERT_MODELS_DIR": str(here.models_dir)}
    done = subprocess.run(limited, env=variables, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "There is no room for" in done.stderr
    assert "Traceback" not in done.stderr
    assert not read_manifest(tmp_path / "out").complete
    embedded(rows, tmp_path / "out", here, EmbeddingOptions())


@pytest.mark.slow
def test_batches_without_memory_are_halved_and_it_is_said(
    rows: Path, tmp_path: Path, here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    whole = BertModel.forward

    @wraps(whole)
    def short(self: BertModel, input_ids: torch.Tensor, **others: Any) -> Any:
        tried.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(self, input_ids=input_ids, **others)

    monkeypatch.setattr(BertModel, "forward", short)
    messages: list[str] = []
    embedded(rows, tmp_path / "out", here, notify=messages.append)
    assert max(tried) > 4
    assert any(notice.startswith("Memory was short: batches were halved") for notice in messages)
    monkeypatch.setattr(BertModel, "forward", whole)
    np.testing.assert_allclose(open_corpus(tmp_path / "out").vectors(), pages_vectors(rows, here), rtol=0, atol=1e-6)

    def never(self: SentenceRun, batch: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(SentenceRun, "_vectors", never)
    with pytest.raises(CorpusError, match="not enough memory .* even for one text"):
        embedded(rows, tmp_path / "none", here)


@pytest.mark.slow
def test_a_batch_of_fewer_tokens_gives_the_same(rows: Path, tmp_path: Path, here: Settings) -> None:
    embedded(rows, tmp_path / "one", here)
    embedded(rows, tmp_path / "two", here, replace(PLAIN, batch_tokens=40))
    first, second = (open_corpus(tmp_path / name).vectors() for name in ("one", "two"))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-6)


def test_vectors_too_large_for_the_format_are_refused(
    rows: Path, tmp_path: Path, here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SentenceRun._vectors
    monkeypatch.setattr(SentenceRun, "_vectors", lambda self, batch: whole(self, batch) * 1e6)
    with pytest.raises(CorpusError, match="too large for float16; give --dtype float32"):
        embedded(rows, tmp_path / "out", here, replace(PLAIN, vector_dtype="float16"))


def test_other_weights_on_another_machine_are_told(rows: Path, tmp_path: Path, here: Settings) -> None:
    def elsewhere(work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
        return embed_shards(replace(work, manifest=replace(work.manifest, weights_sha256="0" * 64)), shards)

    with pytest.raises(CorpusError, match="put the same files on every machine"):
        embedded(rows, tmp_path / "out", here, runner=elsewhere)

    def lost(work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
        return (ShardOutcome(shard.index, shard.rows, ()) for shard in shards)

    with pytest.raises(CorpusError, match="storage that all share"):
        embedded(rows, tmp_path / "out2", here, runner=lost)


def test_weights_are_known_by_their_digest(here: Settings) -> None:
    import hashlib

    folder = here.models_dir / "mine"
    assert weights_sha256(folder) == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
