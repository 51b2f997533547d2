"""A tokenizer in a separate process gives the same results, and a hostile one ends only that process.

Covers `bertviz_core/trace/isolated/backend.py`, `bertviz_core/trace/isolated/child.py`,
`bertviz_core/trace/isolated/messages.py`, `bertviz_core/trace/isolated/tokenizer.py`.
"""

import dataclasses
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.isolation.pool import spare_of
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.isolated import tokenizer as isolated
from bertviz_core.trace.isolated.backend import continuing_prefix
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.hostile import AT_WORK, TOKENIZERS
from tests.helpers.tiny_models import save_tiny

SETTINGS = replace(Settings.from_environment(), child_bytes=768 * 1024**2, child_seconds=6, isolate_models=True)
HERE = replace(SETTINGS, isolate_models=False)
TEXTS = ("I love my pet python.", "Ein Wort, naïve café 🐍 " * 20, "", "语言 \ud800")
LONG = ("a normaliser that never ends", "a list as the longest")
"""Slow cases, left to `make faults` and to the test of refusals."""
MOST_GROWN = 50 * 1024**2


def own_bytes() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def children_of(tokenizer: TextTokenizer) -> list[Any]:
    backend: Any = tokenizer.tokenizer
    return list(backend._worker._children)


@pytest.mark.slow
def test_it_gives_what_it_gives_here_and_comes_back_when_ended() -> None:
    source = folder_source("tiny", bundled_folder())
    here, there = load_tokenizer(source, HERE), load_tokenizer(source, SETTINGS)
    for text, pair in [(text, None) for text in TEXTS] + [("one", "and two")]:
        expected, found = tokenize(here, text, pair), tokenize(there, text, pair)
        for field in dataclasses.fields(expected):
            np.testing.assert_equal(getattr(found, field.name), getattr(expected, field.name))
    (child,) = children_of(there)
    child.kill()
    child.wait()
    several: Any = ["one", "two words"]
    assert dict(there.tokenizer(several)) == dict(here.tokenizer(several))
    assert len(there.tokenizer) == len(here.tokenizer)
    assert there.tokenizer.special_tokens_map == here.tokenizer.special_tokens_map
    assert there.limit == here.limit
    (child,) = children_of(there)
    del there
    gc.collect()
    assert child.poll() is not None


@pytest.mark.parametrize("wrong", [name for name in TOKENIZERS if name not in LONG])
def test_a_hostile_tokenizer_is_one_sentence_and_takes_nothing_here(wrong: str, tmp_path: Path) -> None:
    make, words = TOKENIZERS[wrong]
    make(save_tiny("bert", tmp_path))
    before = own_bytes()
    with pytest.raises(BertvizError, match=words) as refusal:
        tokenize(load_tokenizer(folder_source("model", tmp_path), SETTINGS), AT_WORK)
    assert own_bytes() - before < MOST_GROWN
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.slow
def test_a_refusal_costs_nothing_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, words = TOKENIZERS["a list as the longest"]
    make(save_tiny("bert", tmp_path))
    source = folder_source("model", tmp_path)
    with pytest.raises(CheckpointError, match=words) as first:
        load_tokenizer(source, SETTINGS)
    monkeypatch.setattr(isolated.Worker, "prepared", lambda _worker: pytest.fail("asked again"))
    with pytest.raises(CheckpointError) as second:
        load_tokenizer(source, SETTINGS)
    assert str(first.value) == str(second.value)


@pytest.mark.slow
def test_windows_pieces_and_texts_are_told_as_here() -> None:
    source = folder_source("tiny", bundled_folder())
    here, there = (load_tokenizer(source, settings).tokenizer for settings in (HERE, SETTINGS))
    options: dict[str, Any] = {"truncation": "only_second", "max_length": 16, "stride": 3}
    expected, found = (
        each("Which snake?", TEXTS[0] * 5, return_overflowing_tokens=True, **options) for each in (here, there)
    )
    assert len(expected["input_ids"]) > 2
    assert found["input_ids"] == expected["input_ids"]
    for one, other in zip(found.encodings, expected.encodings, strict=True):
        assert one.sequence_ids == other.sequence_ids
        assert one.offsets == other.offsets
    pieces = ["py", "##th", "##on", "##s", "!"]
    assert there.convert_tokens_to_string(pieces) == here.convert_tokens_to_string(pieces)
    assert continuing_prefix(there) == continuing_prefix(here) == "##"


@pytest.mark.slow
def test_a_limit_below_the_tokens_that_are_always_added_is_one_sentence(tmp_path: Path) -> None:
    source = folder_source("tiny", bundled_folder())
    for settings in (HERE, SETTINGS):
        with pytest.raises(BertvizError, match="adds 3 tokens of its own"):
            tokenize(load_tokenizer(source, replace(settings, max_tokens=2)), "one", "two")


@pytest.mark.slow
def test_a_process_that_stood_ready_reads_the_same_tokenizer() -> None:
    spare = spare_of(isolated.TASK, isolated._limits(SETTINGS))
    isolated.warm_tokenizers(HERE)
    assert not spare._children
    isolated.warm_tokenizers(SETTINGS)
    (ready,) = spare._children
    source = folder_source("tiny", bundled_folder())
    here, there = load_tokenizer(source, HERE), load_tokenizer(source, SETTINGS)
    assert children_of(there) == [ready]
    assert dict(there.tokenizer(TEXTS[0])) == dict(here.tokenizer(TEXTS[0]))
    assert spare._children != [ready]
