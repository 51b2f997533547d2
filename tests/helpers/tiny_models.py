"""Tiny random models of many families, saved with a tiny tokenizer; all sizes differ."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from bertviz_core.models.own import own_classes

own_classes()

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("i", "love", "my", "pet", "python", "the", "language", "bank", "river", "##s", "##on", "py", "##th", ".", ",")
FILLERS = tuple(f"w{index}" for index in range(17))
LAYERS, HEADS, HEAD_DIM, INTERMEDIATE, POSITIONS = 3, 2, 6, 14, 29
HIDDEN = HEADS * HEAD_DIM
TEXT, PAIR = "I love my pet python.", "The pythons, my love"


@dataclass(frozen=True)
class Tiny:
    """The smallest model of a family."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """Differences from BASE."""
    without: tuple[str, ...] = ()
    """Entries of BASE that the family's config does not accept."""
    pad: int = 0
    """Id of the padding token; 1 moves the special tokens as in RoBERTa."""


BASE: Mapping[str, Any] = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INTERMEDIATE,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
    "initializer_range": 0.3,
}
T5 = Tiny(
    {"d_model": HIDDEN, "d_kv": HEAD_DIM, "d_ff": INTERMEDIATE, "num_layers": LAYERS, "num_heads": HEADS},
    without=("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"),
)
XLM = Tiny({"emb_dim": HIDDEN, "n_layers": LAYERS, "n_heads": HEADS, "embed_init_std": 0.5, "init_std": 0.5}, pad=1)
NARROW = {"embedding_size": 10}
ROBERTA = Tiny(pad=1)

FAMILIES: Mapping[str, Tiny] = {
    "albert": Tiny(NARROW),
    "bart": Tiny(
        {
            "d_model": HIDDEN,
            "encoder_layers": LAYERS,
            "decoder_layers": 1,
            "encoder_attention_heads": HEADS,
            "decoder_attention_heads": HEADS,
            "encoder_ffn_dim": INTERMEDIATE,
            "decoder_ffn_dim": 16,
            "init_std": 0.5,
        },
        pad=1,
    ),
    "bert": Tiny(),
    "bert-generation": Tiny(),
    "big_bird": Tiny({"block_size": 3, "num_random_blocks": 1, "max_position_embeddings": 30}),
    "camembert": ROBERTA,
    "canine": Tiny(
        {"downsampling_rate": 4, "num_hash_buckets": 31, "num_hash_functions": 4, "local_transformer_stride": 4}
    ),
    "convbert": Tiny({**NARROW, "head_ratio": 1, "conv_kernel_size": 3}),
    "data2vec-text": ROBERTA,
    "deberta": Tiny({"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}),
    "deberta-v2": Tiny({"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}),
    "distilbert": Tiny({"dim": HIDDEN, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INTERMEDIATE}),
    "electra": Tiny(NARROW),
    "ernie": Tiny({"use_task_id": True, "task_type_vocab_size": 3}),
    "esm": Tiny({"mask_token_id": 4, "token_dropout": True, "emb_layer_norm_before": True}, pad=1),
    "eurobert": Tiny({"num_key_value_heads": 1}),
    "flaubert": XLM,
    "fnet": Tiny(),
    "funnel": Tiny(
        {
            "d_model": HIDDEN,
            "n_head": HEADS,
            "d_head": HEAD_DIM,
            "d_inner": INTERMEDIATE,
            "block_sizes": [1, 2],
            "architectures": ["FunnelModel"],
        },
        without=("num_hidden_layers", "max_position_embeddings"),
    ),
    "gpt2": Tiny({"n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_inner": INTERMEDIATE}),
    "gte": Tiny({"rope_parameters": {"rope_type": "linear", "rope_theta": 20_000.0, "factor": 1.5}}),
    "ibert": ROBERTA,
    "jina_bert": Tiny({"position_embedding_type": "alibi", "feed_forward_type": "geglu"}),
    "jina_embeddings_v3": Tiny(),
    "layoutlm": Tiny({"max_2d_position_embeddings": 11}),
    "lilt": Tiny({"channel_shrink_ratio": 2, "max_2d_position_embeddings": 11}, pad=1),
    "longformer": Tiny({"attention_window": [4, 8, 4]}, pad=1),
    "luke": Tiny({"entity_vocab_size": 5, "entity_emb_size": 3}, pad=1),
    "markuplm": Tiny(
        {
            "max_xpath_tag_unit_embeddings": 6,
            "max_xpath_subs_unit_embeddings": 7,
            "tag_pad_id": 5,
            "subs_pad_id": 6,
            "xpath_unit_hidden_size": 3,
            "max_depth": 2,
        },
        pad=1,
    ),
    "megatron-bert": Tiny(),
    "mobilebert": Tiny(
        {
            **NARROW,
            "intra_bottleneck_size": 16,
            "true_hidden_size": 16,
            "num_feedforward_networks": 2,
            "initializer_range": 0.1,
        }
    ),
    "modernbert": Tiny({"local_attention": 4, "global_attn_every_n_layers": 2}),
    "mpnet": ROBERTA,
    "mra": Tiny(),
    "mt5": T5,
    "neo_bert": Tiny(without=("type_vocab_size",)),
    "nomic_bert": Tiny(),
    "nystromformer": Tiny({"num_landmarks": 7, "segment_means_seq_len": 7}),
    "rembert": Tiny({"input_embedding_size": 10, "output_embedding_size": 5}),
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA,
    "roc_bert": Tiny(
        {"pronunciation_vocab_size": 7, "shape_vocab_size": 9, "pronunciation_embed_dim": 5, "shape_embed_dim": 3}
    ),
    "roformer": Tiny(NARROW),
    "splinter": Tiny(),
    "squeezebert": Tiny(
        {
            "embedding_size": HIDDEN,
            "q_groups": 2,
            "k_groups": 1,
            "v_groups": 1,
            "post_attention_groups": 1,
            "intermediate_groups": 1,
            "output_groups": 1,
        }
    ),
    "t5": T5,
    "umt5": T5,
    "xlm": XLM,
    "xlm-roberta": ROBERTA,
    "xlm-roberta-xl": ROBERTA,
    "xlnet": Tiny(
        {"d_model": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "d_inner": INTERMEDIATE},
        without=("max_position_embeddings", "type_vocab_size"),
    ),
    "xmod": Tiny({"default_language": "en_XX", "languages": ["en_XX"], "adapter_reduction_factor": 4}, pad=1),
    "yoso": Tiny(),
}


def vocabulary(pad: int = 0) -> dict[str, int]:
    """The tiny vocabulary, with the padding token at this id."""
    specials = list(SPECIALS)
    specials[0], specials[pad] = specials[pad], specials[0]
    return {piece: index for index, piece in enumerate((*specials, *WORDS, *FILLERS))}


def tiny_tokenizer(pad: int = 0, model_max_length: int | None = None) -> PreTrainedTokenizerFast:
    """A lower-casing WordPiece tokenizer that builds [CLS] text [SEP] and [CLS] text [SEP] pair [SEP]."""
    vocab = vocabulary(pad)
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    names = {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
    limit = {} if model_max_length is None else {"model_max_length": model_max_length}
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_input_names=inputs, **names, **limit)


def tiny_config(model_type: str, **changes: Any) -> PreTrainedConfig:
    """The smallest config of a family."""
    tiny = FAMILIES[model_type]
    ids = vocabulary(tiny.pad)
    values = {key: value for key, value in BASE.items() if key not in tiny.without}
    values |= {"vocab_size": len(ids), "pad_token_id": tiny.pad, "bos_token_id": ids["[CLS]"]}
    values |= {"eos_token_id": ids["[SEP]"], "cls_token_id": ids["[CLS]"], "sep_token_id": ids["[SEP]"]}
    return CONFIG_MAPPING[model_type](**{**values, **tiny.config, **changes})


def tiny_model(model_type: str, **changes: Any) -> PreTrainedModel:
    """A random model of a family, the same in every call, whose biases are not 0 and norms are not 1."""
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModel.from_config(tiny_config(model_type, **changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def save_tiny(model_type: str, folder: Path, dtype: torch.dtype = torch.float32, **changes: Any) -> Path:
    """Write a folder like save_pretrained: config, weights in safetensors, tokenizer."""

    def save(place: Path) -> None:
        tiny_model(model_type, **changes).to(dtype).save_pretrained(place)
        tiny_tokenizer(FAMILIES[model_type].pad).save_pretrained(place)

    return saved_once((model_type, dtype, changes), folder, save)


_saved: dict[str, tuple[Path, torch.Tensor]] = {}
"""Description of a saved model -> its folder, and the random state after saving."""


def saved_once(what: object, folder: Path, save: Callable[[Path], None]) -> Path:
    """Copy the files that `save` writes into a folder; they are written once per process.

    The random state afterwards is the same as after saving.
    """
    if (key := repr(what)) not in _saved:
        save(place := Path(_saved_in().name) / str(len(_saved)))
        _saved[key] = place, torch.get_rng_state()
    place, state = _saved[key]
    torch.set_rng_state(state)
    folder.mkdir(parents=True, exist_ok=True)
    for path in place.iterdir():
        shutil.copyfile(path, folder / path.name)
    return folder


@cache
def _saved_in() -> TemporaryDirectory[str]:
    return TemporaryDirectory()
