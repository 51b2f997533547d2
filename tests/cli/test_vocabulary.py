"""`python -m bertviz_core vocabulary`: a file of texts, the method's numbers, refusals in one sentence."""

import json
from collections import Counter
from pathlib import Path

from transformers import AutoTokenizer

from bertviz_core import open_model
from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
TEXTS = ["A cat sat.", "Привет, unbelievable мир!", "\x1b[31m𓀀 ok"]


def test_command_and_method_count_the_ids_of_transformers(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(json.dumps({"number": place, "words": text}) for place, text in enumerate(TEXTS)))
    done = command("vocabulary", MODEL, str(file), "--column", "words", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {**open_model(MODEL).vocabulary(TEXTS).to_json(), "notices": found["notices"]}
    rows = AutoTokenizer.from_pretrained(bundled_folder(MODEL))(TEXTS)["input_ids"]
    counts = Counter(each for row in rows for each in row)
    assert {each["id"]: each["tokens"] for each in found["used"]} | {101: 3, 102: 3} == counts
    (table,) = found["tables"]
    assert table["untouched_nbytes"] == (30522 - len(counts)) * 384 * 4


def test_lines_of_a_terminal(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS[:2]))
    done = command("vocabulary", MODEL, str(file))
    assert done.returncode == 0, done.stderr
    for words in ("2 texts touch", "untouched rows of the input table (30,522 × 384, float32)", "Words of most pieces"):
        assert words in done.stdout
    assert "Texts of most unknown pieces" not in done.stdout
    latin = next(line for line in done.stdout.splitlines() if line.startswith("Latin"))
    assert latin.split()[:2] == ["Latin", "26,738"]


def test_refusals(tmp_path: Path, command: Command) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    for file in ("empty.txt", "none.txt"):
        done = command("vocabulary", MODEL, str(tmp_path / file))
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") == 1
