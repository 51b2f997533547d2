"""`python -m bertviz_core parameters`: JSON contract, table, exit code 2 with one line, no torch for a header.

Covers `bertviz_core/cli/checkpoints/*.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command, alone

KEYS = {"model", "model_type", "total", "trainable", "tensors", "bytes", "components", "layers", "parameters"}


@pytest.mark.slow
def test_json_is_one_object_with_the_promised_keys() -> None:
    done = alone("parameters", "bert-base-uncased", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert (found["total"], found["tensors"], found["model_type"]) == (109_482_240, 199, "bert")
    assert found["components"] == {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}
    assert found["layers"][11] == {
        "layer": 11,
        "component": "encoder",
        "total": 7_087_872,
        "attention": 4 * (768 * 768 + 768),
        "feed_forward": 2 * 768 * 3072 + 3072 + 768,
        "layer_norm": 4 * 768,
        "other": 0,
        "applications": 1,
    }
    row = found["parameters"][0]
    assert row["name"] == "embeddings.word_embeddings.weight"
    assert (row["shape"], row["numel"], row["dtype"], row["tied_to"]) == ([30522, 768], 23_440_896, "float32", None)


def test_the_table_shows_the_total_and_every_name(command: Command) -> None:
    done = command("parameters", "all-MiniLM-L6-v2")
    assert "22,713,216 parameters in 103 tensors" in done.stdout
    assert (
        sum(
            "(384" in line or "(1536" in line or "(2," in line or "(512" in line or "(30522" in line
            for line in done.stdout.splitlines()
        )
        == 103
    )


def test_a_header_is_read_without_torch() -> None:
    code = (
        "import sys; from bertviz_core.settings import Settings; from bertviz_core.models.sources import resolve; "
        "from bertviz_core.parameters.ledger import source_ledger; settings = Settings.from_environment(); "
        "print(source_ledger(resolve('all-MiniLM-L6-v2', settings), settings).total, "
        "[name for name in ('torch', 'transformers', 'plotly', 'streamlit') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "22713216 []"


@pytest.mark.slow
def test_this_guard_sees_torch_when_it_is_there() -> None:
    code = "import sys, torch; print([name for name in ('torch', 'transformers') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-model",),
        ("../x",),
        ("/nonexistent/folder",),
        ("bert-base-uncased", "--task", "no-such-task"),
        ("ModernBERT-base", "--task", "next-sentence"),
    ],
)
def test_what_a_user_can_cause_is_one_line_and_exit_code_2(command: Command, arguments: tuple[str, ...]) -> None:
    done = command("parameters", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, (2**62).to_bytes(8, "little") + b"{}"])
def test_a_broken_file_is_one_line_and_exit_code_2(command: Command, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model.safetensors").write_bytes(content)
    done = command("parameters", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("model.safetensors ")
    assert len(done.stderr.strip().splitlines()) == 1
