"""Checkpoints as the authors of GTE and JinaBERT write them, and their computation in plain NumPy.

Names of tensors and formulas are those of the papers and of the serving projects; no class is shared with the library.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from scipy.special import erf

from tests.helpers.tiny_models import tiny_tokenizer, vocabulary

Arrays = dict[str, np.ndarray]
LAYERS, HEADS, HIDDEN, INTERMEDIATE, POSITIONS, TYPES = 3, 6, 24, 14, 29, 4
WORDS = len(vocabulary())
SIZES: Mapping[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INTERMEDIATE,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": TYPES,
    "pad_token_id": 0,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}
GTE: Mapping[str, Any] = {
    **SIZES,
    "architectures": ["NewModel"],
    "auto_map": {
        "AutoConfig": "Alibaba-NLP/new-impl--configuration.NewConfig",
        "AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel",
    },
    "layer_norm_type": "layer_norm",
    "logn_attention_clip1": False,
    "logn_attention_scale": False,
    "model_type": "new",
    "pack_qkv": True,
    "position_embedding_type": "rope",
    "rope_scaling": {"factor": 8.0, "type": "ntk"},
    "rope_theta": 20_000,
    "unpad_inputs": False,
    "use_memory_efficient_attention": False,
}
JINA: Mapping[str, Any] = {
    **SIZES,
    "_name_or_path": "jinaai/jina-bert-implementation",
    "architectures": ["JinaBertForMaskedLM"],
    "attn_implementation": "torch",
    "auto_map": {
        "AutoConfig": "jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
        "AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel",
    },
    "emb_pooler": "mean",
    "feed_forward_type": "geglu",
    "model_type": "bert",
    "position_embedding_type": "alibi",
}
NEOBERT: Mapping[str, Any] = {
    **{key: SIZES[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")},
    "architectures": ["NeoBERTLMHead"],
    "auto_map": {"AutoConfig": "model.NeoBERTConfig", "AutoModel": "model.NeoBERT"},
    "decoder_init_range": 0.02,
    "dim_head": HIDDEN // HEADS,
    "intermediate_size": 40,  # 26 after two thirds, 32 as a multiple of 8
    "kwargs": {"trust_remote_code": True},
    "max_length": POSITIONS,
    "model_type": "neobert",
    "norm_eps": 1e-5,
    "pad_token_id": 0,
    "trust_remote_code": True,
}
GATES = 32
"""Width of a gated layer of NEOBERT."""
JINA_CODE: Mapping[str, Any] = {
    **JINA,
    "_name_or_path": "jinaai/jina-bert-v2-qk-post-norm",
    "auto_map": {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"},
}


def random_tensors(shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Tensors of these shapes, the same in every call; no bias is 0, no norm 1."""
    dice = np.random.default_rng(0)
    return {
        name: (dice.normal(0, 0.4, shape) + ("norm" in name.lower() and name.endswith("weight"))).astype(np.float32)
        for name, shape in shapes.items()
    }


def dense(name: str, out: int, into: int, bias: bool = True) -> dict[str, tuple[int, ...]]:
    """The shapes of a linear layer."""
    return {f"{name}.weight": (out, into), **({f"{name}.bias": (out,)} if bias else {})}


def norm(name: str) -> dict[str, tuple[int, ...]]:
    """The shapes of a layer norm."""
    return {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}


def embeddings(types: int = TYPES) -> dict[str, tuple[int, ...]]:
    """The shapes of an embedding block without positions."""
    table = {"embeddings.token_type_embeddings.weight": (types, HIDDEN)} if types else {}
    return {"embeddings.word_embeddings.weight": (WORDS, HIDDEN), **table, **norm("embeddings.LayerNorm")}


def gte_tensors(types: int = TYPES, pooler: bool = False) -> Arrays:
    """The tensors of a GTE."""
    shapes = embeddings(types)
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        shapes |= {
            **dense(f"{layer}.attention.qkv_proj", 3 * HIDDEN, HIDDEN),
            **dense(f"{layer}.attention.o_proj", HIDDEN, HIDDEN),
            **norm(f"{layer}.attn_ln"),
            **dense(f"{layer}.mlp.up_gate_proj", 2 * INTERMEDIATE, HIDDEN, bias=False),
            **dense(f"{layer}.mlp.down_proj", HIDDEN, INTERMEDIATE),
            **norm(f"{layer}.mlp_ln"),
        }
    return random_tensors(shapes | (dense("pooler.dense", HIDDEN, HIDDEN) if pooler else {}))


def jina_tensors(config: Mapping[str, Any]) -> Arrays:
    """The tensors of the variant of JinaBERT that a config is of."""
    shapes = embeddings()
    if config["position_embedding_type"] == "absolute":
        shapes["embeddings.position_embeddings.weight"] = (POSITIONS, HIDDEN)
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        for name in ("query", "key", "value"):
            shapes |= dense(f"{layer}.attention.self.{name}", HIDDEN, HIDDEN)
        shapes |= {
            **dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN),
            **norm(f"{layer}.attention.output.LayerNorm"),
        }
        if "qk-post-norm" in config["_name_or_path"]:
            for name in ("attention.self.layer_norm_q", "attention.self.layer_norm_k", "layer_norm_1", "layer_norm_2"):
                shapes |= norm(f"{layer}.{name}")
            shapes |= dense(f"{layer}.mlp.up_gated_layer", 2 * INTERMEDIATE, HIDDEN, bias=False)
            shapes |= dense(f"{layer}.mlp.down_layer", HIDDEN, INTERMEDIATE)
        elif config["feed_forward_type"] == "original":
            shapes |= dense(f"{layer}.intermediate.dense", INTERMEDIATE, HIDDEN)
            shapes |= {**dense(f"{layer}.output.dense", HIDDEN, INTERMEDIATE), **norm(f"{layer}.output.LayerNorm")}
        else:
            shapes |= dense(f"{layer}.mlp.gated_layers", 2 * INTERMEDIATE, HIDDEN, bias=False)
            shapes |= {**dense(f"{layer}.mlp.wo", HIDDEN, INTERMEDIATE), **norm(f"{layer}.mlp.layernorm")}
    return random_tensors(shapes | dense("pooler.dense", HIDDEN, HIDDEN))


def neobert_tensors(prefix: str = "", **heads: tuple[int, ...]) -> Arrays:
    """The tensors of a NeoBERT, and those of a head by their names; small, since nothing normalises its states."""
    shapes: dict[str, tuple[int, ...]] = {"encoder.weight": (WORDS, HIDDEN), "layer_norm.weight": (HIDDEN,)}
    for layer in (f"transformer_encoder.{index}" for index in range(LAYERS)):
        shapes |= {f"{layer}.attention_norm.weight": (HIDDEN,), f"{layer}.ffn_norm.weight": (HIDDEN,)}
        for name, out, into in (
            *(("qkv", 3 * HIDDEN, HIDDEN), ("wo", HIDDEN, HIDDEN)),
            *(("ffn.w12", 2 * GATES, HIDDEN), ("ffn.w3", HIDDEN, GATES)),
        ):
            shapes |= dense(f"{layer}.{name}", out, into, bias=False)
    made = random_tensors({**{prefix + name: shape for name, shape in shapes.items()}, **heads})
    return {name: values if "norm" in name else values / 2 for name, values in made.items()}


def save(folder: Path, config: Mapping[str, Any], tensors: Arrays) -> Path:
    """Write a folder with a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    tiny_tokenizer().save_pretrained(folder)
    return folder


class Plain:
    """The steps of a transformer in float64."""

    def __init__(self, tensors: Arrays) -> None:
        self.tensors = {name: values.astype(np.float64) for name, values in tensors.items()}

    def linear(self, name: str, states: Any) -> Any:
        """states W^T + b."""
        return states @ self.tensors[f"{name}.weight"].T + self.tensors.get(f"{name}.bias", 0)

    def norm(self, name: str, states: Any) -> Any:
        """Layer norm."""
        centred = states - states.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def embedded(self, ids: Any, types: Any) -> Any:
        """The first hidden states."""
        states = self.tensors["embeddings.word_embeddings.weight"][ids]
        for table, rows in (("token_type", types), ("position", np.arange(len(ids)))):
            if (name := f"embeddings.{table}_embeddings.weight") in self.tensors:
                states = states + self.tensors[name][rows]
        return self.norm("embeddings.LayerNorm", states)

    @staticmethod
    def attention(
        query: Any, key: Any, value: Any, bias: Callable[[int, int, int], float], turn: Any
    ) -> tuple[Any, Any]:
        """The heads' outputs side by side and their maps (heads, seq, seq), token by token."""
        seq, width = len(query), HIDDEN // HEADS
        maps, output = np.zeros((HEADS, seq, seq)), np.zeros((seq, HIDDEN))
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            for i in range(seq):
                scores = np.array(
                    [
                        turn(query[i, part], i) @ turn(key[j, part], j) / width**0.5 + bias(head, i, j)
                        for j in range(seq)
                    ]
                )
                weights = np.exp(scores - scores.max())
                maps[head, i] = weights / weights.sum()
                output[i, part] = maps[head, i] @ value[:, part]
        return output, maps


def gelu(values: Any) -> Any:
    """The exact GELU."""
    return values * (1 + erf(values / 2**0.5)) / 2


def gte_outputs(tensors: Arrays, config: Mapping[str, Any], ids: Any, types: Any) -> tuple[list[Any], list[Any]]:
    """Hidden states and maps of a GTE."""
    plain, width = Plain(tensors), HIDDEN // HEADS
    factor = (config["rope_scaling"] or {"factor": 1.0})["factor"]

    def turn(vector: Any, place: int) -> Any:
        turned = np.zeros(width)
        for pair in range(width // 2):
            frequency = (config["rope_theta"] * factor) ** (-2 * pair / width) / factor ** (2 / width)
            one, other = vector[pair], vector[pair + width // 2]
            cos, sin = np.cos(place * frequency), np.sin(place * frequency)
            turned[pair], turned[pair + width // 2] = one * cos - other * sin, other * cos + one * sin
        return turned

    states, maps = [plain.embedded(ids, types)], []
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        query, key, value = np.split(plain.linear(f"{layer}.attention.qkv_proj", states[-1]), 3, axis=-1)
        output, weights = plain.attention(query, key, value, lambda head, i, j: 0.0, turn)
        middle = plain.norm(f"{layer}.attn_ln", states[-1] + plain.linear(f"{layer}.attention.o_proj", output))
        up, gate = np.split(plain.linear(f"{layer}.mlp.up_gate_proj", middle), 2, axis=-1)
        states.append(plain.norm(f"{layer}.mlp_ln", middle + plain.linear(f"{layer}.mlp.down_proj", up * gelu(gate))))
        maps.append(weights)
    return states, maps


SLOPES = (2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3)
"""ALiBi's slopes of six heads: four of the series 2^(-8/4 n), two of every other one of the series 2^(-8/8 n)."""


def jina_outputs(tensors: Arrays, config: Mapping[str, Any], ids: Any, types: Any) -> tuple[list[Any], list[Any]]:
    """Hidden states and maps of a JinaBERT."""
    plain = Plain(tensors)
    gated = {"geglu": gelu, "reglu": lambda values: np.maximum(values, 0)}.get(config["feed_forward_type"], gelu)
    slopes = SLOPES if config["position_embedding_type"] == "alibi" else (0.0,) * HEADS
    states, maps = [plain.embedded(ids, types)], []
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        block, given = f"{layer}.attention", states[-1]
        query, key, value = (plain.linear(f"{block}.self.{name}", given) for name in ("query", "key", "value"))
        if f"{layer}.layer_norm_1.weight" in tensors:
            query, key = plain.norm(f"{block}.self.layer_norm_q", query), plain.norm(f"{block}.self.layer_norm_k", key)
        output, weights = plain.attention(
            query, key, value, lambda head, i, j: -slopes[head] * abs(i - j), lambda vector, place: vector
        )
        middle = plain.norm(f"{block}.output.LayerNorm", given + plain.linear(f"{block}.output.dense", output))
        if f"{layer}.layer_norm_1.weight" in tensors:
            middle = plain.norm(f"{layer}.layer_norm_1", middle + given)
            up, gate = np.split(plain.linear(f"{layer}.mlp.up_gated_layer", middle), 2, axis=-1)
            change, last = plain.linear(f"{layer}.mlp.down_layer", up * gated(gate)), "layer_norm_2"
        elif config["feed_forward_type"] == "original":
            wide = gelu(plain.linear(f"{layer}.intermediate.dense", middle))
            change, last = plain.linear(f"{layer}.output.dense", wide), "output.LayerNorm"
        else:
            gate, up = np.split(plain.linear(f"{layer}.mlp.gated_layers", middle), 2, axis=-1)
            change, last = plain.linear(f"{layer}.mlp.wo", gated(gate) * up), "mlp.layernorm"
        states.append(plain.norm(f"{layer}.{last}", middle + change))
        maps.append(weights)
    return states, maps


def neobert_outputs(tensors: Arrays, config: Mapping[str, Any], ids: Any, types: Any) -> tuple[list[Any], list[Any]]:
    """Hidden states and maps of a NeoBERT; the last state is normalised."""
    plain, width = Plain(tensors), HIDDEN // HEADS

    def norm_of(name: str, states: Any) -> Any:
        size = np.sqrt((states**2).mean(axis=-1, keepdims=True) + config["norm_eps"])
        return states / size * plain.tensors[f"{name}.weight"]

    def turn(vector: Any, place: int) -> Any:
        pairs = vector[0::2] + 1j * vector[1::2]
        pairs = pairs * np.exp(1j * place * 10_000.0 ** (-np.arange(0, width, 2) / width))
        return np.stack((pairs.real, pairs.imag), axis=-1).reshape(width)

    states, maps = [plain.tensors["encoder.weight"][ids]], []
    for layer in (f"transformer_encoder.{index}" for index in range(LAYERS)):
        projected = plain.linear(f"{layer}.qkv", norm_of(f"{layer}.attention_norm", states[-1]))
        by_head = projected.reshape(len(ids), HEADS, 3, width)
        query, key, value = (by_head[:, :, part].reshape(len(ids), HIDDEN) for part in range(3))
        output, weights = plain.attention(query, key, value, lambda head, i, j: 0.0, turn)
        middle = states[-1] + plain.linear(f"{layer}.wo", output)
        gate, up = np.split(plain.linear(f"{layer}.ffn.w12", norm_of(f"{layer}.ffn_norm", middle)), 2, axis=-1)
        states.append(middle + plain.linear(f"{layer}.ffn.w3", gate / (1 + np.exp(-gate)) * up))
        maps.append(weights)
    states[-1] = norm_of("layer_norm", states[-1])
    return states, maps
