"""Names: old and prefixed ones become the module's; parts of a layer are recognised by names in many families.

Covers `bertviz_core/parameters/components.py`.
"""

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import orjson
import pytest

from bertviz_core.models import catalog
from bertviz_core.models.catalog.generate import TABLE, TEXT_TASKS, model_type_classes, model_type_row, table_bytes
from bertviz_core.models.families import FAMILIES, STATIC_TYPE
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.parameters.components import component_of, part_of
from bertviz_core.parameters.ledger import header_ledger
from bertviz_core.parameters.naming import foreign_prefix, module_tensors

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def stored(name: str, *shape: int, dtype: str = "float32") -> StoredTensor:
    return StoredTensor(name, shape, dtype, 0, "model.safetensors")


def facts(model_type: str) -> catalog.TypeFacts:
    found = catalog.type_facts(model_type)
    assert found is not None
    return found


def test_gamma_and_beta_become_weight_and_bias() -> None:
    tensors = [stored("embeddings.LayerNorm.gamma", 3), stored("embeddings.LayerNorm.beta", 3)]
    named = module_tensors(tensors, facts("bert").of_class("BertModel"), base_only=True)
    assert [(name, tensor.name) for name, _, tensor in named] == [
        ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma"),
        ("embeddings.LayerNorm.bias", "embeddings.LayerNorm.beta"),
    ]


def test_a_prefix_around_everything_goes_away_only_for_the_base_class() -> None:
    tensors = [stored("bert.pooler.dense.bias", 3)]
    assert module_tensors(tensors, facts("bert").of_class("BertModel"), base_only=True)[0][0] == "pooler.dense.bias"
    assert (
        module_tensors(tensors, facts("bert").of_class("BertModel"), base_only=False)[0][0] == "bert.pooler.dense.bias"
    )


@pytest.mark.parametrize("wrapper", ["module.", "net.", "_orig_mod.", "module._orig_mod.", "model.", "student.model."])
@pytest.mark.parametrize("own", ["bert.encoder.layer.0.a.weight", "bert.embeddings.b.weight"])
def test_what_a_wrapper_put_before_the_names_is_known(wrapper: str, own: str) -> None:
    names = [f"{wrapper}{name}" for name in (own, *(f"bert.encoder.layer.{n}.b" for n in range(20)), "classifier.bias")]
    assert foreign_prefix([*names, "loss.weight"], "bert") == wrapper


@pytest.mark.parametrize(
    "names",
    [
        ["bert.encoder.layer.0.a", "classifier.bias"],
        ["model.layers.0.mlp.a", "model.embed_tokens.weight"],
        ["encoder.layer.0.a", "embeddings.b.weight"],
        ["transformer.h.0.a", "transformer.wte.weight"],
        ["something.else.weight", "something.more.bias"],
        ["weight"],
        [],
    ],
)
def test_a_class_of_its_own_modules_has_no_wrapper(names: list[str]) -> None:
    assert foreign_prefix(names, "bert") == ""


def test_a_fused_projection_is_cut_as_its_class_cuts_it() -> None:
    named = module_tensors(
        [stored("encoder.layers.1.attn.Wqkv.weight", 12, 4)],
        facts("nomic_bert").of_class("NomicBertModel"),
        base_only=True,
    )
    assert [(name, shape) for name, shape, _ in named] == [
        (f"layers.1.self_attn.{part}_proj.weight", (4, 4)) for part in "qkv"
    ]


def test_a_tied_tensor_that_is_stored_again_is_counted_once() -> None:
    names = ["bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"]
    header = CheckpointHeader(tuple(stored(name, 7, 3) for name in names), ("model.safetensors",), 0)
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
    ledger = header_ledger("tied", config, header)
    assert (ledger.total, ledger.tensors, ledger.tied, ledger.stored_tensors) == (21, 1, 1, 2)
    untied = header_ledger("untied", {**config, "tie_word_embeddings": False}, header)
    assert (untied.total, untied.tensors, untied.tied) == (42, 2, 0)


def test_buffers_are_listed_beside_the_parameters() -> None:
    tensors = (stored("embeddings.position_ids", 1, 5, dtype="int64"), stored("pooler.dense.bias", 3))
    ledger = header_ledger("x", {"model_type": "bert"}, CheckpointHeader(tensors, ("model.safetensors",), 0))
    assert [each.name for each in ledger.buffers] == ["embeddings.position_ids"]
    assert (ledger.total, ledger.stored_tensors) == (3, 2)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("attention.self.query.weight", "query"),
        ("attention.q_lin.bias", "query"),
        ("attention.self.key_proj.weight", "key"),
        ("attn.Wqkv.weight", "query_key_value"),
        ("attn.c_attn.weight", "query_key_value"),
        ("self_attn.v_proj.weight", "value"),
        ("attention.attn.o.weight", "attention_output"),
        ("attention.output.dense.weight", "attention_output"),
        ("attn.Wo.weight", "attention_output"),
        ("attention.output.LayerNorm.weight", "layer_norm"),
        ("sa_layer_norm.bias", "layer_norm"),
        ("post_attention_layernorm.weight", "layer_norm"),
        ("mlp_norm.weight", "layer_norm"),
        ("ln_1.weight", "layer_norm"),
        ("intermediate.dense.weight", "feed_forward"),
        ("output.dense.bias", "feed_forward"),
        ("mlp.experts.17.gate_proj.weight", "feed_forward"),
        ("mlp.Wi.weight", "feed_forward"),
        ("ffn.lin1.weight", "feed_forward"),
        ("fc2.bias", "feed_forward"),
    ],
)
def test_the_part_of_a_layer_is_told_from_the_name(name: str, part: str) -> None:
    assert part_of(name, f"layer.0.{name}", "some-type") == part


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("embeddings.word_embeddings.weight", "embeddings"),
        ("embeddings_project.weight", "embeddings"),
        ("shared.weight", "embeddings"),
        ("model.embed_tokens.weight", "embeddings"),
        ("encoder.rel_embeddings.weight", "encoder"),
        ("encoder.embedding_hidden_mapping_in.weight", "encoder"),
        ("encoder.relative_attention_bias.weight", "encoder"),
        ("transformer.layer.0.ffn.lin1.weight", "encoder"),
        ("decoder.block.0.layer.0.SelfAttention.q.weight", "decoder"),
        ("pooler.dense.weight", "pooler"),
        ("lm_head.bias", "task head"),
    ],
)
def test_the_component_is_the_module_at_the_top(name: str, component: str) -> None:
    assert component_of(name, "bert", wrapped=False) == component


def test_what_stands_beside_the_wrapped_model_is_the_task_head() -> None:
    assert component_of("anything.weight", "bert", wrapped=True) == "task head"
    assert component_of("bert.pooler.dense.weight", "bert", wrapped=True) == "pooler"


def test_the_packaged_table_is_that_of_the_pinned_library() -> None:
    """library.json is written by models/catalog/generate.py, again after each change of the pinned transformers."""
    table = orjson.loads(TABLE.read_bytes())
    assert f"\ntransformers=={table['transformers']}\n" in CONSTRAINTS.read_text(encoding="utf-8")
    for model_type in ("bert", "roformer", "nomic_bert", "t5", "gpt2", "modernbert", "deberta-v2", "albert"):
        assert table["types"][model_type] == orjson.loads(orjson.dumps(model_type_row(model_type)))
        assert orjson.loads(orjson.dumps(model_type_classes(model_type))).items() <= table["classes"].items()
    assert TABLE.read_bytes() == table_bytes(table)


def test_text_models_are_packaged_and_nothing_else() -> None:
    table = orjson.loads(TABLE.read_bytes())
    assert {*FAMILIES} - {STATIC_TYPE} <= {*table["types"], *table["other_types"]}  # transformers has no static models
    others = {name for name, row in table["types"].items() if TEXT_TASKS.isdisjoint(row["tasks"])}
    assert others <= {*FAMILIES}
    assert {"vit", "whisper", "clip", "pegasus"} <= set(table["other_types"])


@pytest.mark.parametrize("model_type", ["bert", "xlm-roberta", "t5", "deberta-v2"])
def test_what_is_packaged_is_what_would_be_asked(model_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/parameters/test_three_ways.py counts a type that is not packaged: pegasus."""
    packaged = facts(model_type)
    empty = {"types": {}, "classes": {}, "other_types": [model_type]}
    monkeypatch.setattr(catalog, "_library", lambda: empty)
    imported = catalog.type_facts.__wrapped__(model_type)
    assert imported is not None
    imported_facts, written = asdict(imported), asdict(packaged)
    classes = imported_facts.pop("classes")
    assert classes
    assert classes.items() <= written.pop("classes").items()
    assert imported_facts == written


def test_a_name_is_known_or_not_without_the_library() -> None:
    code = (
        "import sys; from bertviz_core.models.catalog import is_known, type_facts; "
        "print(is_known('vit'), is_known('no-such-type'), type_facts('no-such-type'), type_facts('bert').prefix, "
        "[name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True False None bert []"


@pytest.mark.parametrize("digits", ["9" * 10, "9" * 5_000])
def test_more_digits_than_any_list_has_places_are_a_name(digits: str) -> None:
    names = [f"encoder.layer.{place}.attention.self.query.weight" for place in ("0", digits)]
    header = CheckpointHeader(tuple(stored(name, 3, 3) for name in names), ("model.safetensors",), 0)
    ledger = header_ledger("x", {"model_type": "bert", "architectures": ["BertModel"]}, header)
    assert {row.name: row.layer for row in ledger.parameters} == {names[0]: 0, names[1]: None}


@pytest.mark.parametrize("nothing", [None, 0, -1])
@pytest.mark.parametrize("model_type", ["albert", "marian", "pegasus", "bert", "funnel", "t5"])
def test_a_size_that_is_null_is_the_default_size(model_type: str, nothing: int | None) -> None:
    sizes = ("max_position_embeddings", "d_model", "num_hidden_layers", "num_hidden_groups", "inner_group_num")
    config = {"model_type": model_type, "architectures": [facts(model_type).base_class]}
    header = CheckpointHeader((stored("encoder.layers.0.fc1.weight", 3, 5),), ("model.safetensors",), 0)
    empty = header_ledger("x", {**config, **dict.fromkeys(sizes, nothing)}, header)
    assert empty.parameters == header_ledger("x", config, header).parameters
