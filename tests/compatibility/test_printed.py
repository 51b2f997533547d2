"""What commands print with `--json` has every key that version 1.0 printed, with the same type and value.

Covers docs/compatibility.md.
"""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.compatibility.promised import COMMANDS, FIRST, printed

WORDS = frozenset({"notices", "notice", "suggestion", "note", "message", "reason", "summary"})
"""Keys whose values are sentences for readers."""
CORRECTED = frozenset({("predict-answers", "score")})
"""Output and key of numbers that were wrong in 1.0, as CHANGELOG says."""
MEASURED = frozenset({"seconds", "fingerprint"})
"""Keys of times, and of what hashes one."""
RELATIVE, ABSOLUTE = 1e-5, 1e-5


def differences(kept: Any, now: Any, place: str = "") -> list[str]:
    """What of a kept object is not there today, each with its place."""
    name = place.rpartition(".")[2].partition("[")[0]
    if isinstance(kept, float) and type(now) is float:
        digits = len(f"{kept:f}".rstrip("0").rpartition(".")[2])  # a number may get more digits
        same = math.isclose(kept, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or round(now, max(digits, 4)) == kept
        return [] if same or name in MEASURED else [f"{place}: {kept} is {now}"]
    if type(kept) is not type(now):
        return [f"{place}: {type(kept).__name__} is {type(now).__name__}"]
    if isinstance(kept, dict):
        gone = [f"{place}.{key}: is gone" for key in kept if key not in now]
        return gone + [
            words for key in kept if key in now for words in differences(kept[key], now[key], f"{place}.{key}")
        ]
    if isinstance(kept, list) and name not in WORDS:
        if len(kept) != len(now):
            return [f"{place}: {len(kept)} entries are {len(now)}"]
        pairs = enumerate(zip(kept, now, strict=True))
        return [words for at, (before, after) in pairs for words in differences(before, after, f"{place}[{at}]")]
    return [] if kept == now or name in WORDS | MEASURED else [f"{place}: {kept!r} is {now!r}"]


@pytest.fixture(scope="module")
def kept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the kept models, corpora and lists, in which a corpus may make its file of vectors."""
    folder = tmp_path_factory.mktemp("kept") / "1.0"
    shutil.copytree(FIRST, folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sample(12)
def test_a_command_prints_what_it_printed(name: str, kept_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    kept = json.loads((FIRST / "json" / f"{name}.json").read_text(encoding="utf-8"))
    found = differences(kept, printed(COMMANDS[name], kept_folder))
    corrected = {key for output, key in CORRECTED if output == name}
    assert [words for words in found if words.partition(":")[0].rpartition(".")[2] not in corrected] == []


def test_what_is_gone_or_changed_is_named() -> None:
    kept = {"a": 1, "b": [{"c": 0.5, "seconds": 1.0}], "notices": ["x"], "d": "e"}
    assert differences(kept, {**kept, "f": 1, "b": [{"c": 0.500001, "seconds": 9.0}], "notices": []}) == []
    assert differences(kept, {"a": 1.0, "b": [{"c": 0.6, "seconds": 1.0}], "notices": ["x"], "d": "g"}) == [
        ".a: int is float",
        ".b[0].c: 0.5 is 0.6",
        ".d: 'e' is 'g'",
    ]
    assert differences(kept, {"a": 1, "b": [], "notices": ["x"]}) == [".d: is gone", ".b: 1 entries are 0"]
