"""Internal APIs of other libraries, each used in one place: the first tests to fail after an upgrade.

Covers `bertviz_core/models/recording.py`, `bertviz_core/models/skeleton.py`.
"""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForQuestionAnswering,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    ConvBertModel,
    LlamaModel,
    PreTrainedModel,
    ViTConfig,
)
from transformers.models.auto import tokenization_auto
from transformers.utils import output_capturing

from bertviz_core.models import recording, skeleton
from tests.helpers.tiny_models import tiny_config

ROOT = Path(__file__).parents[2]
OWN = {ROOT / "bertviz_core" / "models" / name for name in ("recording.py", "skeleton.py")}
SOURCES = [path for folder in ("bertviz_core", "ui", "pages") for path in (ROOT / folder).rglob("*.py")]
PYTHONS = {"_replace", "_asdict", "_exit"}
"""Documented names that start with an underscore."""
STREAMLIT = {"_get_signed_cookie_with_chunks"}


def private_attributes(tree: ast.Module) -> set[str]:
    """Private attributes of other objects, by name, including those in getattr."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            names.add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            names |= {each.value for each in node.args[1:2] if isinstance(each, ast.Constant)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def declared(tree: ast.Module) -> set[str]:
    """Names defined in a file."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return names


@pytest.mark.slow
def test_other_libraries_private_attributes_stand_in_one_file_each() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    listed = {*recording.INTERNALS, *skeleton.INTERNALS}
    ours = set().union(*map(declared, trees.values())) - listed
    for path, tree in trees.items():
        found = private_attributes(tree) - ours - PYTHONS - STREAMLIT
        assert found <= (listed if path in OWN else set()), path
        modules = [each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
        private = [name for name in modules if name.startswith("torch.") and "._" in name]
        assert not private or path in OWN, path


def test_torch_still_has_what_is_used_of_it() -> None:
    inner, seen = torch.nn.Linear(2, 2), []
    outer = torch.nn.Sequential(inner, inner)
    outer.register_module("empty", None)
    assert list(recording.children_of(outer)) == [("0", inner), ("1", inner), ("empty", None)]
    other = recording.with_child(outer, "1", torch.nn.Identity())
    assert (type(other[1]), other[0] is inner, outer[1] is inner) == (torch.nn.Identity, True, True)
    inner.register_forward_hook(lambda *_: seen.append("mine"))
    recording.remove_hooks(inner, "somewhere.else")
    inner(torch.zeros(2))
    recording.remove_hooks(inner, __name__)
    inner(torch.zeros(2))
    assert seen == ["mine"]
    tensor = torch.zeros(4, device="meta")
    assert recording.storage_key(tensor[1:]) == recording.storage_key(tensor)
    assert recording.storage_key(torch.zeros(4, device="meta")) != recording.storage_key(tensor)
    assert recording.operator_of(torch.ops.aten.add.Tensor) == torch.ops.aten.add
    assert recording.tree_leaves(({"a": [1]}, 2)) == [1, 2]
    operations = []

    class Seen(recording.dispatch_mode()):  # type: ignore[misc]  # torch leaves the class without types
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            operations.append(recording.operator_of(func))
            return func(*args, **(kwargs or {}))

    with Seen():
        torch.zeros(2) + 1
    assert torch.ops.aten.add in operations


def test_transformers_still_has_what_is_used_of_it() -> None:
    assert skeleton.classes_of(AutoModel, BertConfig) == (BertModel,)
    assert skeleton.classes_of(AutoModelForQuestionAnswering, ViTConfig) == ()
    assert skeleton.knows(AutoModel, BertConfig)
    assert not skeleton.knows(AutoModelForQuestionAnswering, ViTConfig)
    assert skeleton.takes_attention_function(BertModel)
    assert skeleton.tied_names(BertForMaskedLM)["cls.predictions.decoder.bias"] == "cls.predictions.bias"
    assert isinstance(skeleton.not_saved(BertModel), list)
    config = tiny_config("bert")
    with torch.device("meta"):
        model = BertModel(config)
    assert skeleton.declares_attention_function(model)
    assert not skeleton.is_stateful(model)
    assert recording.attention_implementation(config) in ("sdpa", "eager")
    info = SimpleNamespace(missing_keys={"embeddings.position_ids", "pooler.dense.bias"}, unexpected_keys=set())
    skeleton.leave_out_ignored(model, info)
    assert "pooler.dense.bias" in info.missing_keys
    skeleton.set_base_name(config, "org/name")
    assert config.name_or_path == "org/name"


@pytest.mark.parametrize("model_type", ["t5", "bart", "bert"])
def test_every_stack_gets_the_attention_implementation(model_type: str) -> None:
    model = AutoModel.from_config(tiny_config(model_type), attn_implementation="sdpa")
    skeleton.set_attention(model, "eager")
    stacks = [each for each in model.modules() if isinstance(each, PreTrainedModel)]
    assert {recording.attention_implementation(each.config) for each in stacks} == {"eager"}


@pytest.mark.parametrize(("model_class", "alone"), [(BertModel, False), (ConvBertModel, True), (LlamaModel, False)])
def test_a_family_without_causal_masks_is_known_by_its_code(model_class: type[PreTrainedModel], alone: bool) -> None:
    config = model_class.config_class(num_hidden_layers=1)
    with torch.device("meta"):
        assert skeleton.has_bidirectional_masks_alone(model_class(config)) is alone


def test_a_version_without_names_of_tokenizers_selects_none_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenization_auto, "MODEL_IDS_TO_TOKENIZERS_BACKEND", ["org/*one"], raising=False)
    assert [skeleton.names_a_tokenizer(name) for name in ("Org/the-one", "org/other")] == [True, False]
    monkeypatch.delattr(tokenization_auto, "MODEL_IDS_TO_TOKENIZERS_BACKEND")
    assert not skeleton.names_a_tokenizer("Org/the-one")


def test_what_transformers_listens_with_is_taken_away_and_nothing_else() -> None:
    """Its own forward hooks are identified by the module that defines them."""
    assert output_capturing.__name__ == skeleton.CAPTURING
    model = BertModel(tiny_config("bert")).eval()
    heard: list[str] = []
    model.encoder.layer[0].register_forward_hook(lambda *_: heard.append("mine"))
    ids = torch.ones(1, 3, dtype=torch.long)
    for _ in range(3):
        states = model(ids, output_hidden_states=True).hidden_states
        assert len(states) == model.config.num_hidden_layers + 1
        skeleton.capture_anew(model)
    assert heard == ["mine"] * 3
