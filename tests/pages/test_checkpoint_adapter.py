"""The page Checkpoint shows what an adapter adds to its base, and refuses a wrong adapter in one sentence."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.cli.conftest import Command, command, models_in_memory
from tests.helpers.tiny_models import HIDDEN, LAYERS, save_tiny
from tests.helpers.written_adapters import write_adapter
from tests.pages.opened import metrics, opened, visible_text
from tests.pages.snippets import printed
from tests.pages.test_checkpoint_weights import charts
from tests.pages.test_downloads import View, at_view

__all__ = ["models_in_memory", "command"]
MODULES = ("query", "value")


@pytest.fixture
def place(models_dir: Path) -> Path:
    save_tiny("bert", models_dir / "base")
    write_adapter(models_dir / "mine", "base", models_dir / "base", MODULES)
    return models_dir


def expected(place: Path) -> np.ndarray:
    """Norm of each update over that of its matrix, modules by layers."""
    base, own = load_file(place / "base" / "model.safetensors"), load_file(place / "mine" / "adapter_model.safetensors")
    found = np.zeros((len(MODULES), LAYERS))
    for row, module in enumerate(MODULES):
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}.attention.self.{module}"
            first, second = (own[f"base_model.model.{name}.lora_{half}.weight"] for half in "AB")
            found[row, layer] = np.linalg.norm(2 * second @ first) / np.linalg.norm(base[f"{name}.weight"])
    return found


def test_the_map_shows_every_update_beside_the_base(place: Path) -> None:
    at = opened("checkpoint", view="Compare with base", model="mine", other="base", checkpoint_adapter_explained="true")
    assert not at.exception
    assert at.selectbox(key="other").value == "base"
    (cells,) = (each for each in charts(at)[0]["data"] if each["type"] == "heatmap")
    np.testing.assert_allclose(np.array(cells["z"], float), expected(place), rtol=1e-5)


@pytest.mark.parametrize("order", [("mine", "base"), ("base", "mine")], ids=["adapter opened", "base opened"])
def test_the_change_is_over_the_norms_of_the_base_whichever_was_opened(
    place: Path, order: tuple[str, str], command: Command
) -> None:
    compared = json.loads(command("compare", *(str(place / name) for name in order), "--json").stdout)
    assert (Path(compared["first"]).name, Path(compared["second"]).name) == ("base", "mine")
    changes = {each["name"]: each["relative_change"] for each in compared["tensors"]}
    found = [
        [changes[f"encoder.layer.{layer}.attention.self.{module}.weight"] for layer in range(LAYERS)]
        for module in MODULES
    ]
    np.testing.assert_allclose(found, expected(place), rtol=1e-5)


def test_the_lines_of_python_give_the_singular_values(place: Path) -> None:
    at = opened("checkpoint", view="Compare with base", model="mine", other="base", checkpoint_adapter_explained="true")
    code = next(each.value for each in at.code if "lora_A" in each.value)
    values, stable_rank = printed(code)
    shown = [float(value) for value in code.split("print(values)   # ")[1].split(", ...")[0].split(", ")]
    np.testing.assert_allclose(values, shown, rtol=1e-5)
    assert stable_rank == pytest.approx(float(code.rstrip().rpartition("# ")[2]), rel=1e-5)


def test_the_ledger_counts_the_adapters_own_parameters(place: Path) -> None:
    at = opened("parameters", model="mine")
    assert not at.exception
    assert metrics(at)["Trainable"] == f"{2 * LAYERS * 2 * 3 * HIDDEN:,}"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"use_dora": True}, "uses DoRA"),
        ({"base_model_name_or_path": "/etc"}, "outside the models folder"),
        ({"base_model_name_or_path": "mine"}, "is an adapter itself"),
        ({"r": 0}, "has the rank '0'"),
    ],
    ids=["DoRA", "a path", "a loop", "rank 0"],
)
def test_a_wrong_adapter_is_one_sentence(
    place: Path, changed: dict[str, object], message: str, command: Command
) -> None:
    path = place / "mine" / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    at = opened("checkpoint", view="Compare with base", model="mine", other="base")
    assert not at.exception
    assert any(message in visible_text(each.value) for each in at.error)
    if "base_model_name_or_path" in changed:
        return  # the command may open any folder
    done = command("adapter", str(place / "mine"))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("page", "key"),
    [("architecture", "architecture_modules"), ("attention", "attention_heads"), ("journey", "journey")],
)
def test_files_say_that_an_adapter_runs_merged(place: Path, page: str, key: str) -> None:
    at = at_view(View(page, {"model": "mine"}, (), state={f"{key}_files": True}))
    assert not at.exception
    sent = [each.proto.json for each in at.get("bidi_component") if each.proto.component_name == "figure_download"]
    captions = [json.loads(each)["caption"] for each in sent]
    assert captions
    assert all(", an adapter that runs merged into base." in each for each in captions)
