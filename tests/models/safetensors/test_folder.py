"""Files of a checkpoint: single, sharded, missing, repeated, pickled; and a header of 100,000 tensors."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from bertviz_core import open_model
from bertviz_core.cli.app import main
from bertviz_core.errors import CheckpointError
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.parameters import parameter_tree_figure
from bertviz_core.models.safetensors.folder import INDEX_FILE, listed_tensors, read_header
from bertviz_core.parameters.ledger import header_ledger
from bertviz_core.parameters.tree import parameter_tree
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened


def sharded(folder: Path, shards: dict[str, dict[str, np.ndarray]]) -> None:
    for file, arrays in shards.items():
        save_file(arrays, folder / file)
    weight_map = {name: file for file, arrays in shards.items() for name in arrays}
    (folder / INDEX_FILE).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def test_shards_are_listed_as_one(tmp_path: Path) -> None:
    sharded(
        tmp_path,
        {
            "model-00001-of-00002.safetensors": {"a": np.zeros((2, 3), np.float32)},
            "model-00002-of-00002.safetensors": {"b": np.zeros((5,), np.float32)},
        },
    )
    header = read_header(tmp_path)
    assert [(each.name, each.file[:11]) for each in header.tensors] == [("a", "model-00001"), ("b", "model-00002")]
    assert len(header.files) == 2


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    sharded(tmp_path, {"one.safetensors": {"a": np.zeros(1)}, "two.safetensors": {"b": np.zeros(1)}})
    (tmp_path / "two.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"two\.safetensors.*missing"):
        read_header(tmp_path)


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    sharded(tmp_path, {"one.safetensors": {"a": np.zeros(1)}, "two.safetensors": {"a": np.zeros(1), "b": np.zeros(1)}})
    (tmp_path / INDEX_FILE).write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    with pytest.raises(CheckpointError, match="two shards"):
        read_header(tmp_path)


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "sub/x.safetensors", "x.bin", 7])
def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path, name: object) -> None:
    (tmp_path / INDEX_FILE).write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(CheckpointError, match="not a .safetensors file of its own folder"):
        read_header(tmp_path)


@pytest.mark.parametrize("index", [{}, {"weight_map": {}}, {"weight_map": [1]}])
def test_an_index_without_a_map_is_refused(tmp_path: Path, index: object) -> None:
    (tmp_path / INDEX_FILE).write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="weight_map"):
        read_header(tmp_path)


def test_pickles_are_refused_with_the_way_to_convert_them(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(CheckpointError, match="save_pretrained"):
        read_header(tmp_path)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("model.onnx", "exported graph"),
        ("onnx/model.onnx", "exported graph"),
        ("model-q4_0.gguf", "llama.cpp"),
        ("model.pt", "run code"),
        ("pytorch_model.bin", "run code"),
    ],
)
def test_other_formats_are_refused_in_one_sentence_with_the_way_to_convert_them(
    tmp_path: Path, file: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library, the command and the page say the same, whether there is a config.json or not."""
    bare, folder = tmp_path / "bare", save_tiny("bert", tmp_path / "models" / "mine")
    (folder / "model.safetensors").unlink()
    for place in (bare, folder):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(b"\x80\x04.")
    with pytest.raises(CheckpointError, match=message) as error:
        read_header(folder)
    sentence = str(error.value)
    assert file in sentence
    assert sentence.endswith("save_pretrained(FOLDER), which writes model.safetensors.")
    assert sentence.count(". ") == 0
    with pytest.raises(CheckpointError, match=message):
        open_model(folder).sentences(["a cat"])
    with pytest.raises(CheckpointError, match=f"no config.json, and holds its weights only as {file}"):
        open_model(bare)
    monkeypatch.setattr("sys.argv", ["inside-bert", "similarity", str(folder), "a", "b"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder.parent))
    page = opened("sentences", model="mine")
    assert not page.exception
    assert any(message in each.value.replace("\\", "") for each in page.error)


def test_weights_beside_other_formats_are_opened(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "mine")
    for name in ("model.onnx", "model.gguf", "pytorch_model.bin"):
        (folder / name).write_bytes(b"")
    assert read_header(folder).files == ("model.safetensors",)


def test_a_folder_without_weights_says_so(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no safetensors file"):
        read_header(tmp_path)


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Headers of 100,000 tensors in 8 shards, named like a mixture of experts; the values are a hole in the file."""
    folder = tmp_path_factory.mktemp("mixture")
    names = [
        f"model.layers.{layer}.mlp.experts.{expert}.{part}.weight"
        for layer in range(50)
        for expert in range(667)
        for part in ("gate_proj", "up_proj", "down_proj")
    ][:99_998]
    names += ["model.embed_tokens.weight", "model.norm.weight"]
    weight_map = {}
    for shard in range(8):
        file = f"model-{shard:05d}.safetensors"
        header, position = {}, 0
        for name in names[shard::8]:
            size = 2 * 3 * 2
            header[name] = {"dtype": "BF16", "shape": [2, 3], "data_offsets": [position, position + size]}
            position += size
            weight_map[name] = file
        raw = json.dumps(header).encode()
        with open(folder / file, "wb") as out:
            out.write(struct.pack("<Q", len(raw)) + raw)
            out.truncate(8 + len(raw) + position)
    (folder / INDEX_FILE).write_text(json.dumps({"weight_map": weight_map}))
    return folder


@pytest.mark.slow
def test_a_header_of_100_000_tensors_loses_nothing_when_it_is_folded(mixture: Path) -> None:
    config = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeModel"], "tie_word_embeddings": False}
    ledger = header_ledger("mixture", config, read_header(mixture))
    assert (ledger.tensors, ledger.total, ledger.nbytes) == (100_000, 600_000, 1_200_000)
    nodes = parameter_tree(ledger, depth=9)
    below: dict[str, int] = {}
    for node in nodes[1:]:
        below[node.parent or ""] = below.get(node.parent or "", 0) + node.numel
    drawn = {node.id: node.numel for node in nodes}
    assert nodes[0].numel == 600_000
    assert all(drawn[parent] == total for parent, total in below.items())
    figure = parameter_tree_figure(nodes, "mixture", "sunburst", LIGHT)
    assert len(figure.to_json()) < 1_000_000


@pytest.mark.slow
def test_more_tensors_or_shards_than_any_checkpoint_has_are_refused_before_they_are_read(tmp_path: Path) -> None:
    entry = b'"dtype":"U8","shape":[0],"data\\u005foffsets":[0,0]'
    for header, words in (
        (b"{" + b",".join(b'"%d":{%b}' % (place, entry) for place in range(200_001)) + b"}", "about 200,001 tensors"),
        (b'{"a":{' * 250_001, "500,002 times the sign '{', at most 250,000"),
        (b'{"a":1,"b":' * 600_001, "600,001 times the sign '{', at most 250,000"),
        (b'{"a":{"shape":[' + b"0," * 2_000_001, "2,000,001 times the sign ','"),
    ):
        with pytest.raises(CheckpointError, match=words):
            listed_tensors("model.safetensors", header, None)
    names = {f"t{place}": f"{place}.safetensors" for place in range(2_001)}
    (tmp_path / INDEX_FILE).write_text(json.dumps({"weight_map": names}))
    with pytest.raises(CheckpointError, match="names 2,001 files; at most 2,000"):
        read_header(tmp_path)
