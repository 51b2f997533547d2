"""`python -m bertviz_core canary write`, `canary check` and their methods: exit codes, JSON, refusals."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.sentences.analysis.canary.contents import TEXTS
from tests.cli.conftest import Command, alone

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("canary") / "canary.json"
    done = alone("canary", "write", MODEL, str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == (
        "Canary of all-MiniLM-L6-v2 written to canary.json: 40 texts, 384 dimensions."
    )
    return path


def test_a_model_in_another_process_is_as_it_was(file: Path, command: Command) -> None:
    done = command("canary", "check", MODEL, str(file), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["passed"], found["causes"], found["moved"]) == (True, [], [])
    assert found["largest_change"] <= 1e-6
    assert [each["text"] for each in found["texts"]] == list(TEXTS)
    lines = command("canary", "check", MODEL, str(file)).stdout
    assert "0 of 40 texts have another nearest text" in lines
    assert "nothing else changed" in lines


def test_a_changed_model_has_exit_code_1(file: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "model"
    shutil.copytree(bundled_folder(MODEL), folder)
    assert command("canary", "check", str(folder), str(file)).returncode == 0
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.3.attention.output.dense.weight"] *= 0.9
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    done = command("canary", "check", str(folder), str(file), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["passed"], found["causes"]) == (1, False, ["weights"])
    assert found["summary"] == ("The vectors of 40 of 40 texts changed; the weights are others (model.safetensors).")
    loose = str(2 * found["largest_change"])
    assert command("canary", "check", str(folder), str(file), "--tolerance", loose).returncode == 0


def test_another_model_is_a_change(file: Path, command: Command) -> None:
    done = command("canary", "check", "splade-tiny", str(file))
    assert done.returncode == 1
    assert "vectors of 128 dimensions, and those of the canary have 384" in done.stdout


@pytest.mark.parametrize(
    ("model", "content", "options", "words"),
    [
        ("no-such-model", None, (), "no-such-model"),
        (MODEL, "{}", (), "is no canary"),
        (MODEL, "{", (), "is damaged"),
        (MODEL, '{"format": "Inside BERT canary", "format_version": 9}', (), "format version 9"),
        (MODEL, None, ("--tolerance", "-1"), "tolerance"),
        (MODEL, None, ("--tolerance", "nan"), "tolerance"),
    ],
)
def test_what_cannot_be_compared_has_exit_code_2(
    model: str, content: str | None, options: tuple[str, ...], words: str, file: Path, tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "c.json"
    path.write_text(file.read_text() if content is None else content)
    done = command("canary", "check", model, str(path), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr.splitlines()[-1]


def test_no_file_has_exit_code_2(tmp_path: Path, command: Command) -> None:
    done = command("canary", "check", MODEL, str(tmp_path / "none.json"))
    assert (done.returncode, "There is no file" in done.stderr) == (2, True)
    done = command("canary", "write", MODEL, str(tmp_path / "none" / "c.json"), "--texts", str(tmp_path / "x.txt"))
    assert done.returncode == 2


def test_own_texts_are_those_of_the_file(tmp_path: Path, command: Command) -> None:
    (tmp_path / "texts.txt").write_text("A cat.\nA cat.\nRain.\n")
    done = command("canary", "write", MODEL, str(tmp_path / "c.json"), "--texts", str(tmp_path / "texts.txt"))
    assert done.returncode == 0, done.stderr
    assert [each["text"] for each in json.loads((tmp_path / "c.json").read_text())["texts"]] == ["A cat.", "Rain."]


def test_the_methods_write_and_check(file: Path, tmp_path: Path) -> None:
    model = open_model(MODEL)
    written = model.write_canary(tmp_path / "c.json", ["A cat.", "Rain.", "It rains."])
    assert written.to_pandas()["text"].tolist() == ["A cat.", "Rain.", "It rains."]
    assert (written.to_json()["dimensions"], len(written.data.texts)) == (384, 3)
    check = model.check_canary(tmp_path / "c.json")
    assert check.passed
    assert check.to_pandas()["nearest now"].tolist()[1:] == ["It rains.", "Rain."]
    assert "nothing else changed" in repr(check)
    assert "<table" in check._repr_html_()
    assert model.check_canary(file).passed
    with pytest.raises(BertvizError, match="no figure"):
        check.figure()
    with pytest.raises(BertvizError, match="empty list"):
        model.write_canary(tmp_path / "c.json", [])
