"""A trial of one batch chooses the number format: the fastest whose vectors stay close to float32's."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.manifest import read_manifest, write_manifest
from bertviz_core.corpus.runners import number_format
from bertviz_core.corpus.runners.number_format import ROUNDS, fastest_format
from bertviz_core.corpus.shards import Encoder, embed_shards
from bertviz_core.models.loading import INSTRUCTIONS, LoadedModel, load_model
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import SentenceRow, SentenceRun, sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.results import SentenceDtype, SentencePlan
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import save_tiny

TEXTS = ("The river bank was steep.", "He took money from the bank.", "It rains.")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """The bundled model."""
    settings = Settings.from_environment()
    source = resolve(DEFAULT_MODEL, settings)
    return Encoder(load_model(source, settings), load_tokenizer(source, settings), recommended(source, settings))


def timed(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    """Let the device have both formats, and their batches take these seconds."""
    monkeypatch.setattr(number_format, "fast_formats", lambda device: tuple(INSTRUCTIONS))
    clock = iter(np.cumsum([each for one in seconds for _ in range(ROUNDS) for each in (0.0, one)]).tolist())
    monkeypatch.setattr(number_format, "perf_counter", lambda: next(clock))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("seconds", "chosen"), [((3, 2, 4), "bfloat16"), ((3, 2, 1), "float16"), ((1, 2, 3), "float32")]
)
def test_the_fastest_is_chosen_and_the_trial_is_told(
    seconds: tuple[float, ...], chosen: str, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed(monkeypatch, *seconds)
    dtype, notice = fastest_format(encoder, TEXTS)
    assert dtype == chosen
    assert notice.startswith(f"Runs are in {chosen}, by a trial of 3 texts: float32 {seconds[0]},000 ms, bfloat16")
    exact, half = (
        sentence_vectors(encoder.loaded, encoder.tokenizer, TEXTS, encoder.plan, each).vectors
        for each in ("float32", "bfloat16")
    )
    assert f"bfloat16 {seconds[1]},000 ms (cosine at least {(exact * half).sum(axis=1).min():.5f})" in notice


class Rounded(SentenceRun):
    """A run whose vectors in formats of 16 bits have nothing to do with those in float32."""

    def __init__(self, loaded: LoadedModel, plan: SentencePlan, dtype: SentenceDtype, skipped: int) -> None:
        super().__init__(loaded, plan, dtype, skipped)
        self.moved = int(dtype != "float32")

    def vectors(self, batch: Sequence[SentenceRow]) -> np.ndarray:
        return np.roll(super().vectors(batch), self.moved, axis=1)


def test_a_format_that_changes_the_vectors_is_not_chosen(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, 3, 1, 2)
    monkeypatch.setattr(number_format, "SentenceRun", Rounded)
    assert fastest_format(encoder, TEXTS)[0] == "float32"


def test_a_device_without_such_formats_runs_in_float32(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_format, "fast_formats", lambda device: ())
    assert fastest_format(encoder, TEXTS) == ("float32", "Runs are in float32: cpu has no fast format of 16 bits.")


def test_a_corpus_that_was_begun_keeps_its_format(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny("bert", settings.models_dir / "mine")
    rows, folder = tmp_path / "rows.csv", tmp_path / "out"
    rows.write_text("text\nriver bank\nmoney\n")
    options = EmbeddingOptions(run_dtype=None, rows_per_shard=1)
    timed(monkeypatch, 3, 2, 4)
    messages: list[str] = []
    made = embed_corpus("mine", str(rows), folder, settings, options, embed_shards, notify=messages.append)
    assert (made.run_dtype, read_manifest(folder).run_dtype) == ("bfloat16", "bfloat16")
    assert [each for each in messages if each.startswith("Runs are in bfloat16")]
    (folder / "shards" / "part-00001.parquet").unlink()
    write_manifest(folder, replace(made, complete=False))
    assert embed_corpus("mine", str(rows), folder, settings, options, embed_shards).run_dtype == "bfloat16"
