"""Tiny models for late interaction, in the formats of sentence-transformers, PyLate and Stanford; heads of BGE-M3."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.base.modules.dense import Dense
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

from tests.helpers.tiny_models import HIDDEN, save_tiny

DIMENSIONS = 7
EXPANDED, DOCUMENT = 14, 20
"""Tokens of an expanded query, and most tokens of a document."""
PROMPTS = {"query": "my ", "document": "the river "}
EXPANSION = {"strategy": "fixed", "attend": False, "length": EXPANDED}


def save_multi_vector(family: str, folder: Path, **changes: Any) -> Path:
    """Write a folder with sentence-transformers' own class.

    Args:
        family: the family of the encoder.
        folder: the folder.
        changes: expansion, lengths, prompts, skiplist, skipping, activation, normalize or similarity.
    """
    encoder = save_tiny(family, folder.with_name(f"{folder.name}-encoder"))
    lengths = changes.get("lengths", {"document_length": DOCUMENT})
    transformer = Transformer(str(encoder), query_expansion=changes.get("expansion", EXPANSION), **lengths)
    torch.manual_seed(3)
    activation = changes.get("activation", torch.nn.Identity())
    dense = Dense(HIDDEN, DIMENSIONS, False, activation, module_input_name="token_embeddings")
    mask = MultiVectorMask(changes.get("skiplist", [".", ","]), skiplist_tasks=changes.get("skipping"))
    modules: list[torch.nn.Module] = [transformer, dense, mask]
    modules += [Normalize("token_embeddings")] if changes.get("normalize", True) else []
    prompts = changes.get("prompts", PROMPTS)
    similarity = changes.get("similarity")
    made = MultiVectorEncoder(modules=modules, prompts=prompts, device="cpu", similarity_fn_name=similarity)
    made.save_pretrained(str(folder))
    return folder


def save_pylate(folder: Path, **config: Any) -> Path:
    """Write a BERT in the format of PyLate 1, whose markers were added to the vocabulary."""
    save_tiny("bert", folder)
    _rename_words(folder, {"w0": "[Q] ", "w1": "[D] "}, added=True)
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": projection()}, folder / "1_Dense" / "model.safetensors")
    dense = {"in_features": HIDDEN, "out_features": DIMENSIONS, "bias": False}
    files: dict[str, Any] = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
        ],
        "1_Dense/config.json": {**dense, "activation_function": "torch.nn.modules.linear.Identity"},
        "sentence_bert_config.json": {"max_seq_length": 24, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "model_type": "ColBERT",
            "query_prefix": "[Q] ",
            "document_prefix": "[D] ",
            "query_length": EXPANDED,
            "document_length": DOCUMENT,
            "attend_to_expansion_tokens": False,
            "skiplist_words": [".", ","],
            **config,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def save_stanford(folder: Path, **metadata: Any) -> Path:
    """Write a BERT in Stanford's format, with the projection beside the weights of the encoder."""
    save_tiny("bert", folder)
    _rename_words(folder, {"w0": "[unused0]", "w1": "[unused1]"}, added=False)
    weights = {f"bert.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file({**weights, "linear.weight": projection()}, folder / "model.safetensors", {"format": "pt"})
    change(folder, "config.json", architectures=["HF_ColBERT"])
    made = {"query_maxlen": EXPANDED, "doc_maxlen": DOCUMENT, "mask_punctuation": True, "dim": DIMENSIONS}
    (folder / "artifact.metadata").write_text(json.dumps({**made, **metadata}))
    return folder


def save_heads(folder: Path, family: str = "xlm-roberta", ending: str = "safetensors", **wrong: Any) -> Path:
    """Write a tiny encoder with the heads of BGE-M3 beside it.

    Args:
        wrong: other tensors of a head, by its name.
    """
    save_tiny(family, folder)
    hidden = json.loads((folder / "config.json").read_text())["hidden_size"]
    random = torch.Generator().manual_seed(2)
    for name, rows in (("sparse_linear", 1), ("colbert_linear", DIMENSIONS)):
        made = {"weight": torch.randn(rows, hidden, generator=random), "bias": torch.randn(rows, generator=random)}
        if rows == 1:  # some weights above 0, and some below, in every family
            made = {"weight": made["weight"] / 5, "bias": torch.full((1,), 0.4)}
        made |= wrong.get(name, {})
        if ending == "safetensors":
            save_file(made, folder / f"{name}.safetensors")
        else:
            torch.save(made, folder / f"{name}.pt")
    return folder


def projection() -> torch.Tensor:
    """The weight of a projection."""
    return torch.randn(DIMENSIONS, HIDDEN, generator=torch.Generator().manual_seed(5))


def change(folder: Path, name: str, **values: Any) -> Path:
    """Change entries of a JSON file of a folder."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return folder


def _rename_words(folder: Path, names: dict[str, str], added: bool) -> None:
    """Give other names to words of the vocabulary, which are tokens of their own where they are added."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    for old, new in names.items():
        index = vocabulary.pop(old)
        vocabulary[new] = index
        if added:
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
            content["added_tokens"].append({"id": index, "content": new, "normalized": True, **flags})
    path.write_text(json.dumps(content))
