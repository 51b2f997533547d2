"""An adapter's file is held against its own settings and its base, as peft holds it; every face says the same.

Covers `bertviz_core/models/local_files.py`.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.errors import BertvizError
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.adapters.contents import fitted, read_adapter
from bertviz_core.models.safetensors.adapters.results import BaseClass
from bertviz_core.models.safetensors.adapters.settings import checked_settings, targeted
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.adapters.updates import adapter_updates
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.number_formats import formats_options, number_formats
from bertviz_core.settings import Settings
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.tiny_models import FILLERS, HIDDEN, SPECIALS, WORDS

QV = {"target_modules": ["query", "value"]}
CLASSES = {**QV, "task_type": "SEQ_CLS"}
WEIGHTS = "adapter_model.safetensors"
VOCAB = len(SPECIALS) + len(WORDS) + len(FILLERS)


def edit(folder: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS)


def without(*parts: str) -> Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]:
    return lambda tensors: {name: each for name, each in tensors.items() if not any(part in name for part in parts)}


def faces(settings: Settings) -> dict[str, Callable[[], str]]:
    """What each face says of the adapter."""
    source = resolve("adapter", settings)
    opened = OpenedModel("adapter", settings)
    return {
        "parameters": lambda: source_ledger(source, settings).note,
        "load report": lambda: source_load_report(source, "base", settings).suggestion,
        "run": lambda: " ".join(load_model(source, settings).notices),
        "updates": lambda: " ".join(adapter_updates(source, settings).notices),
        "number formats": lambda: " ".join(number_formats(opened, formats_options((), ("bfloat16",))).result.notices),
    }


def make(settings: Settings, auto_class: Any, model_type: str = "bert", **options: Any) -> Path:
    model = random_class(auto_class, model_type)
    saved_base(model, settings.models_dir / "base")
    save_adapter(model, "base", settings.models_dir / "adapter", **options)
    return settings.models_dir / "adapter"


REFUSED: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "no head": (AutoModelForSequenceClassification, CLASSES, without("classifier"), "no tensor of 'classifier'"),
    "half a head": (AutoModelForSequenceClassification, CLASSES, without("classifier.bias"), "no 'classifier.bias'"),
    "no pooler": (AutoModel, {**QV, "modules_to_save": ["pooler"]}, without("pooler"), "no tensor of 'pooler'"),
    "one of two": (
        AutoModelForSequenceClassification,
        {**CLASSES, "modules_to_save": ["pooler", "classifier"]},
        without("pooler"),
        "no tensor of 'pooler'",
    ),
    "one norm of several": (
        AutoModel,
        {**QV, "modules_to_save": ["LayerNorm"]},
        without("layer.1.output.LayerNorm"),
        "no 'encoder.layer.1.output.LayerNorm.bias'",
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("auto_class", "options", "damage", "words"), REFUSED.values(), ids=list(REFUSED))
def test_an_adapter_without_a_module_that_it_saves_is_refused_as_by_peft(
    settings: Settings, auto_class: Any, options: dict[str, Any], damage: Any, words: str
) -> None:
    folder = make(settings, auto_class, **options)
    edit(folder, damage)
    with pytest.raises(KeyError):
        PeftModel.from_pretrained(auto_class.from_pretrained(settings.models_dir / "base"), folder)
    sentences = set()
    for face in faces(settings).values():
        with pytest.raises(BertvizError, match=words) as caught:
            face()
        sentences.add(str(caught.value))
    assert len(sentences) == 1


PARTIAL: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "one layer": ("bert", QV, without("layer.1.attention.self.query"), "lacks the update of 1 ('encoder.layer.1."),
    "one module": ("bert", QV, without(".value."), "('encoder.layer.0.attention.self.value', ...)"),
    "an expression": (
        "bert",
        {"target_modules": r".*layer\.[01]\.attention\.self\.(query|key)"},
        without("layer.0.attention.self.key"),
        "lacks the update of 1 ('encoder.layer.0.attention.self.key')",
    ),
    "some layers": (
        "bert",
        {**QV, "layers_to_transform": [0, 2]},
        without("layer.2.attention.self.value"),
        "lacks the update of 1 ('encoder.layer.2.attention.self.value')",
    ),
    "not excluded": (
        "bert",
        {**QV, "exclude_modules": ["layer.0.attention.self.value"]},
        without("layer.1.attention.self.value"),
        "lacks the update of 1 ('encoder.layer.1.attention.self.value')",
    ),
    "a table": (
        "bert",
        {"target_modules": ["query", "word_embeddings"]},
        without("word_embeddings"),
        "lacks the update of 1 ('embeddings.word_embeddings')",
    ),
    "a pooler": ("bert", {"target_modules": ["dense"]}, without("pooler"), "lacks the update of 1 ('pooler.dense')"),
    "every update": ("bert", {**QV, "modules_to_save": ["pooler"]}, without("lora_"), "lacks the update of 6"),
    "own biases": ("bert", {**QV, "bias": "lora_only"}, without("bias"), "lacks the value of 6"),
    "a bias": (
        "bert",
        {**QV, "bias": "all"},
        without("layer.1.output.dense.bias"),
        "lacks the value of 1 ('encoder.layer.1.output.dense.bias')",
    ),
    "roberta": ("roberta", QV, without("layer.2.attention.self.query"), "lacks the update of 1 ('encoder.layer.2."),
    "distilbert": ("distilbert", {"target_modules": ["q_lin"]}, without("layer.1."), "lacks the update of 1"),
    "modernbert": ("modernbert", {"target_modules": "all-linear"}, without("layers.1.mlp.Wo"), "lacks the update of 1"),
    "t5": ("t5", {"target_modules": ["q", "wo"]}, without("encoder.block.1.layer.0"), "lacks the update of 1"),
    "gpt2": (
        "gpt2",
        {"target_modules": ["c_attn"], "fan_in_fan_out": True},
        without("h.1."),
        "lacks the update of 1 ('h.1.attn.c_attn')",
    ),
    "albert": ("albert", {"target_modules": ["query", "value"]}, without("value"), "lacks the update of 1"),
    "an alpha": ("bert", {**QV, "alpha_pattern": {"nowhere": 3}}, dict, "an alpha for 'nowhere'"),
    "a rank": ("bert", {**QV, "rank_pattern": {"nowhere": 3}}, dict, "an alpha for 'nowhere'"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("model_type", "options", "damage", "words"), PARTIAL.values(), ids=list(PARTIAL))
def test_what_the_file_lacks_of_its_settings_is_said_by_every_face(
    settings: Settings, model_type: str, options: dict[str, Any], damage: Any, words: str
) -> None:
    folder = make(settings, AutoModel, model_type, **options)
    edit(folder, damage)
    said_by = {name: face() for name, face in faces(settings).items()}
    assert [name for name, text in said_by.items() if words not in text] == [], said_by


def settings_without(folder: Path, **changes: Any) -> None:
    """Change the settings of an adapter; None takes an entry out."""
    path = folder / "adapter_config.json"
    entries = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in entries.items() if value is not None}))


@pytest.mark.parametrize("auto_class", [AutoModelForSequenceClassification, AutoModelForTokenClassification])
def test_the_head_of_another_task_in_the_base_is_said_by_every_face(settings: Settings, auto_class: Any) -> None:
    folder = make(settings, AutoModelForSequenceClassification, **QV)
    is_own = auto_class is AutoModelForSequenceClassification
    settings_without(folder, task_type="SEQ_CLS" if is_own else "TOKEN_CLS", auto_mapping=None)
    said_by = {name: face() for name, face in faces(settings).items()}
    words = "is one of 'BertForSequenceClassification'"
    assert [name for name, text in said_by.items() if (words in text) == is_own] == [], said_by


def test_settings_that_name_no_matrices_are_said_by_every_face(settings: Settings) -> None:
    settings_without(make(settings, AutoModel, **QV), target_modules=None)
    said_by = {name: face() for name, face in faces(settings).items()}
    assert [name for name, text in said_by.items() if "names no matrices" not in text] == [], said_by


@pytest.mark.parametrize("more", [0, 2])
def test_tokens_beside_an_adapter_without_a_row_are_said_by_every_face(settings: Settings, more: int) -> None:
    folder = make(settings, AutoModel, "roberta", **QV)
    tokenizer = AutoTokenizer.from_pretrained(settings.models_dir / "base")
    tokenizer.add_tokens([f"new{each}" for each in range(more)])
    tokenizer.save_pretrained(folder)
    said_by = {name: face() for name, face in faces(settings).items()}
    words = f"has {more} tokens for which its base has no row"
    assert [name for name, text in said_by.items() if (words in text) != bool(more)] == [], said_by


def test_a_tokenizer_beside_an_adapter_may_be_as_large_as_that_of_qwen(settings: Settings) -> None:
    folder = make(settings, AutoModel, "roberta", **QV)
    tokenizer = AutoTokenizer.from_pretrained(settings.models_dir / "base")
    tokenizer.add_tokens(["new"])
    tokenizer.save_pretrained(folder)
    with (folder / "tokenizer.json").open("a") as file:
        file.write(" " * 9 * 1024**2)
    assert any(
        "has 1 token for which" in each for each in adapter_updates(resolve("adapter", settings), settings).notices
    )


WHOLE: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "all linear": (AutoModelForSequenceClassification, "bert", {**CLASSES, "target_modules": "all-linear"}),
    "dense, without a pooler": (AutoModelForTokenClassification, "bert", {"target_modules": ["dense"]}),
    "dense, roberta": (AutoModelForSequenceClassification, "roberta", {**CLASSES, "target_modules": ["dense"]}),
    "layers": (AutoModel, "bert", {**QV, "layers_to_transform": 1, "layers_pattern": "layer"}),
    "biases": (AutoModelForSequenceClassification, "bert", {**CLASSES, "bias": "all"}),
    "t5": (AutoModel, "t5", {"target_modules": "all-linear", "bias": "all"}),
    "ranks": (AutoModel, "bert", {**QV, "rank_pattern": {"^encoder.layer.1.attention.self.query": 5, "value": 2}}),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("auto_class", "model_type", "options"), WHOLE.values(), ids=list(WHOLE))
def test_of_a_whole_adapter_nothing_is_said(
    settings: Settings, auto_class: Any, model_type: str, options: dict[str, Any]
) -> None:
    """Its base has a pooler that the trained class may lack, and a head that it may lack."""
    base = random_class(AutoModel, model_type)
    saved_base(base, settings.models_dir / "base")
    model = auto_class.from_pretrained(settings.models_dir / "base").eval()
    save_adapter(model, "base", settings.models_dir / "adapter", **options)
    source = resolve("adapter", settings)
    assert adapter_updates(source, settings).notices == ()


@pytest.mark.parametrize(
    ("settings_of", "words"),
    [
        (
            {"target_modules": ["value"]},
            "an update of 'encoder.layer.0.attention.self.query', which its settings do not",
        ),
        (
            {"layers_to_transform": [0]},
            "an update of 'encoder.layer.1.attention.self.query', which its settings do not",
        ),
        ({"exclude_modules": "encoder.*query"}, "an update of 'encoder.layer.0.attention.self.query', which"),
        ({"rank_pattern": {"query": 4}}, "has the rank 3, its settings say 4"),
        ({"rank_pattern": {"value": 3}, "r": 4}, "has the rank 3, its settings say 4"),
    ],
)
def test_what_the_settings_do_not_name_is_refused(settings: Settings, settings_of: dict[str, Any], words: str) -> None:
    """peft leaves such a tensor out without a word, or cannot load it."""
    base = random_class(AutoModel, "bert")
    saved_base(base, settings.models_dir / "base")
    save_adapter(base, "base", settings.models_dir / "adapter", **QV)
    path = settings.models_dir / "adapter" / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings_of))
    with pytest.raises(BertvizError, match=words):
        load_model(resolve("adapter", settings), settings)


@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": ["query", "output.dense"]},
        {"target_modules": ["dense"], "exclude_modules": ["attention.output.dense"]},
        {"target_modules": r".*layer\.\d+\..*(query|dense)", "exclude_modules": r".*\.1\..*"},
        {"target_modules": ["query", "pooler.dense"], "layers_to_transform": [1, 2]},
        {"target_modules": ["pooler.dense", "value"], "layers_to_transform": 2, "layers_pattern": ["layer", "blocks"]},
        {"target_modules": ["dense"], "modules_to_save": ["pooler"]},
    ],
)
def test_the_matrices_that_settings_name_are_those_that_peft_changes(options: dict[str, Any]) -> None:
    model = random_class(AutoModel, "bert")
    modules = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    wrapped = get_peft_model(model, LoraConfig(r=3, **options))
    parts = (name.removeprefix("base_model.model.").partition(".lora_A") for name, _ in wrapped.named_parameters())
    changed = {module for module, found, _ in parts if found}
    own = checked_settings("x", {"peft_type": "LORA", "r": 3, "lora_alpha": 5, **options})
    assert targeted(own, modules) == changed


GROWN = VOCAB + 5


@pytest.mark.parametrize(
    "options",
    [
        {**QV, "save": True},
        {**QV, "save": "auto", "modules_to_save": ["word_embeddings"]},
        {"target_modules": ["query", "word_embeddings"], "save": True},
        {"target_modules": ["query", "word_embeddings"], "save": True, "auto_class": AutoModelForMaskedLM},
        {**QV, "save": True, "auto_class": AutoModelForMaskedLM},
        {**QV, "save": True, "model_type": "t5"},
        {**QV, "save": True, "model_type": "modernbert", "target_modules": ["Wqkv"]},
    ],
    ids=["saved", "trained", "updated", "updated, masked LM", "masked LM", "t5", "modernbert"],
)
@pytest.mark.sample(3)
def test_an_adapter_of_a_resized_base_is_opened_with_the_rows_of_its_file(
    settings: Settings, options: dict[str, Any]
) -> None:
    rest = dict(options)
    save, auto_class = rest.pop("save"), rest.pop("auto_class", AutoModel)
    model_type = rest.pop("model_type", "bert")
    if model_type == "t5":
        rest["target_modules"] = ["q", "v"]
    saved_base(random_class(auto_class, model_type), settings.models_dir / "base")
    model = auto_class.from_pretrained(settings.models_dir / "base").eval()
    model.resize_token_embeddings(GROWN)
    merged = save_adapter(model, "base", settings.models_dir / "adapter", save_embedding_layers=save, **rest)
    loaded = load_model(resolve("adapter", settings), settings)
    ids = torch.tensor([[2, VOCAB, GROWN - 1, 7, 3]])
    encoder = merged.base_model
    encoder = encoder.get_encoder() if encoder.config.is_encoder_decoder else encoder
    with torch.no_grad():
        np.testing.assert_allclose(loaded.model(input_ids=ids)[0], encoder(input_ids=ids)[0], rtol=0, atol=1e-5)
    for name, face in faces(settings).items():
        assert f"was resized from {VOCAB} to {GROWN} before" in face(), name
    if auto_class is AutoModel and "modules_to_save" not in rest:  # of which peft counts the original, too
        ledger = source_ledger(resolve("adapter", settings), settings)
        assert (ledger.trainable, ledger.total) == merged.peft_counts


def test_without_the_rows_it_is_said_that_the_base_was_resized(settings: Settings) -> None:
    saved_base(random_class(AutoModel, "bert"), settings.models_dir / "base")
    model = AutoModel.from_pretrained(settings.models_dir / "base").eval()
    model.resize_token_embeddings(GROWN)
    save_adapter(model, "base", settings.models_dir / "adapter", target_modules=["query", "word_embeddings"])
    model.save_pretrained(settings.models_dir / "resized")
    with pytest.raises(
        BertvizError, match=f"{VOCAB} rows in 'base', its update {GROWN}: tokens were added to the base"
    ):
        load_model(resolve("adapter", settings), settings)


def test_a_table_that_peft_wrote_beside_its_update_is_no_second_change(settings: Settings) -> None:
    base = random_class(AutoModel, "bert")
    saved_base(base, settings.models_dir / "base")
    options = {"target_modules": ["word_embeddings"], "save_embedding_layers": True}
    merged = save_adapter(base, "base", settings.models_dir / "adapter", **options)
    written = load_file(settings.models_dir / "adapter" / WEIGHTS)
    assert "base_model.model.embeddings.word_embeddings.base_layer.weight" in written
    ours = load_model(resolve("adapter", settings), settings).model.get_input_embeddings().weight.detach()
    np.testing.assert_allclose(ours, merged.get_input_embeddings().weight.detach(), rtol=0, atol=1e-6)
    updates = adapter_updates(resolve("adapter", settings), settings)
    assert (updates.notices, updates.updates[0].shape) == ((), (VOCAB, HIDDEN))


class Counted(tuple[str, ...]):
    """Names that count how often all of them are gone through."""

    passes = 0

    def __iter__(self) -> Iterator[str]:
        Counted.passes += 1
        return super().__iter__()


def test_many_modules_and_many_tensors_are_no_product(settings: Settings) -> None:
    """A folder of a few MB: names of modules to save, and a tensor of one number for each."""
    base = random_class(AutoModel, "bert")
    saved_base(base, settings.models_dir / "base")
    folder = save_named(settings.models_dir / "adapter", 2_000)
    adapter, header = read_adapter("adapter", folder), read_header(settings.models_dir / "base")
    names = Counted(adapter.settings.modules_to_save)
    counted = dataclasses.replace(adapter, settings=dataclasses.replace(adapter.settings, modules_to_save=names))
    known = BaseClass("bert.", {}, VOCAB)
    Counted.passes = 0
    assert len(fitted(counted, "base", header, known).saved) == 2_000
    assert Counted.passes <= 4


def save_named(folder: Path, count: int) -> Path:
    names = [f"classifier.k{place}" for place in range(count)]
    folder.mkdir()
    save_file({f"base_model.model.{name}.weight": torch.ones(1) for name in names}, folder / WEIGHTS)
    settings = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 3, "lora_alpha": 6}
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "modules_to_save": names}))
    return folder


def test_an_update_of_a_tied_output_layer_alone_is_refused_by_its_cause(settings: Settings) -> None:
    """peft adds it to the output layer alone, and to the table of words too once it is merged."""
    make(settings, AutoModelForMaskedLM, target_modules=["query", "decoder"])
    with pytest.raises(BertvizError, match=r"'cls\.predictions\.decoder\.weight', which in 'base' is one matrix with"):
        load_model(resolve("adapter", settings), settings)


def test_an_update_of_a_table_that_the_output_layer_shares_says_what_is_merged(settings: Settings) -> None:
    """peft's own run before a merge differs from that after it."""
    merged = make(settings, AutoModelForMaskedLM, target_modules=["query", "word_embeddings"])
    live = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(settings.models_dir / "base"), merged).eval()
    ids = torch.tensor([[2, 5, 7, 4, 3]])
    with torch.no_grad():
        before, after = live(ids).logits, live.merge_and_unload()(ids).logits
    assert (before - after).abs().max() > 0.01
    said = faces(settings)
    assert all("'cls.predictions.decoder.weight': here both change" in face() for face in said.values())
    edit(settings.models_dir / "adapter", without("word_embeddings"))
    assert "here both change" not in faces(settings)["run"]()
