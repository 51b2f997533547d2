"""The fuzzing command: every target reads a few cases, and a failing case is detected."""

import random
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from bertviz_core.errors import TextError
from tests.fuzz.cases import Brought, fault, random_of
from tests.fuzz.mutations import VALUES, changed_bytes, changed_json
from tests.fuzz.targets import HEADER, TARGETS

CASES, CASES_PLANTED = 3, 1_000


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TARGETS)
def test_every_target_reads_its_cases(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    run = TARGETS[name](tmp_path)
    assert [fault(run, random_of(name, 0, case)) for case in range(CASES)] == [""] * CASES


def test_a_refusal_in_a_sentence_is_no_fault_and_all_else_is_one() -> None:
    def raising(error: Exception) -> str:
        def read() -> None:
            raise error

        return fault(lambda _: Brought(1, read), random.Random(0))

    assert raising(TextError("The list has no sentence; type one.")) == ""
    assert raising(TextError("")) == "a refusal without words"
    assert raising(KeyError("entry")).startswith("KeyError in test_targets.py:")
    assert raising(RecursionError()).startswith("RecursionError")


@pytest.mark.slow
def test_a_reader_that_takes_time_as_the_square_of_its_input_is_found() -> None:
    """Processor time counts, so a busy machine finds the same cases as an idle one."""

    def linear(raw: bytes) -> int:
        return raw.count(b"x!")

    def quadratic(raw: bytes) -> object:
        return re.search(rb"[a-z0-9+.-]*!", raw)

    def found(read: Callable[[bytes], object]) -> list[str]:
        def case(rng: random.Random) -> Brought:
            raw = changed_bytes(rng, b"one unbroken word")
            return Brought(len(raw), lambda: read(raw))

        return list(islice(filter(None, (fault(case, random_of("planted", 0, at)) for at in range(CASES_PLANTED))), 1))

    assert found(linear) == []
    (words,) = found(quadratic)
    assert re.fullmatch(r"[\d.]+ s of the processor for [\d,]+ bytes; at most [\d.]+", words)


def test_a_case_is_the_same_each_time_and_no_other() -> None:
    def made(case: int, seed: int = 1) -> tuple[bytes, str]:
        rng = random_of("headers", seed, case)
        return changed_bytes(rng, bytes(range(256))), repr(changed_json(rng, HEADER))

    assert made(5) == made(5)
    assert len({made(case, seed) for case in range(20) for seed in range(2)}) == 40


def test_a_change_leaves_the_original_alone() -> None:
    before = repr((HEADER, VALUES))
    for case in range(200):
        changed_json(random_of("headers", 0, case), HEADER)
    assert repr((HEADER, VALUES)) == before
