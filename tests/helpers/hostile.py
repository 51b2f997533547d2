"""Hostile model folders: every config entry that could name a file, and every file that could be another one."""

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tiny_models import save_tiny

SECRET = "rosebud-of-the-server"
FILE_KEYS = (
    *("vocab", "merges", "vocab_file", "merges_file", "tokenizer_file", "spm_file", "source_spm", "target_spm"),
    *("entity_vocab", "entity_vocab_file", "emoji_file", "monolingual_vocab_file", "normalizer_file", "special_file"),
    *("word_shape_file", "word_pronunciation_file", "target_vocab_file", "src_vocab_file", "tgt_vocab_file"),
    *("tokenizer_config_file", "added_tokens_file", "special_tokens_map_file", "chat_template_file", "name_or_path"),
    *("_name_or_path", "gguf_file", "fast_tokenizer_files", "additional_files", "sudachi_config_path", "cache_dir"),
)
CONFIG_KEYS = (
    *("_name_or_path", "name_or_path", "transformers_weights", "attn_implementation", "_attn_implementation"),
    *("experts_implementation", "_experts_implementation", "custom_pipelines", "auto_map", "backbone"),
    *("kernel_config", "use_kernels", "index_path", "passages_path", "index_name", "dataset", "vocab_file"),
    *("tokenizer_class", "extra_files", "extra_config_files", "adapter_path", "base_model_name_or_path"),
)
NAMES = (
    *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model", "tokenizer.model", "modules.json"),
    *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "sentence_bert_config.json"),
    *("config_sentence_transformers.json", "model.safetensors.index.json"),
)
MILLION = 10**6
REPEATS: dict[str, dict[str, Any]] = {
    "bert": {"num_hidden_layers": MILLION},
    "albert": {"num_hidden_groups": MILLION},
    "distilbert": {"n_layers": MILLION},
    "funnel": {"block_sizes": [2, MILLION]},
    "gpt_neo": {"attention_types": [[["global", "local"], MILLION]]},
    "bart": {"decoder_layers": MILLION},
    "swin": {"depths": [2, 2, MILLION]},
    "switch_transformers": {"num_experts": MILLION},
    "clip": {"text_config": {"num_hidden_layers": MILLION}},
    "modernbert": {"layer_types": ["full_attention"] * 5000},
    "mixtral": {"num_local_experts": MILLION},
}
"""Family -> config entries that request a million copies of a part of the model."""
CONFIGS: dict[str, tuple[str, str]] = {
    "text for a number": ('"hidden_size": "many"', "'many' as 'hidden_size'; a whole number is needed"),
    "fraction for a number": ('"num_attention_heads": 2.5', "2.5 as 'num_attention_heads'; a whole number is needed"),
    "yes for a number": ('"num_hidden_layers": true', "true as 'num_hidden_layers'; a whole number is needed"),
    "number for a text": ('"hidden_act": 3', "3 as 'hidden_act'; a text is needed"),
    "object for a list": ('"architectures": {"a": 1}', "an object as 'architectures'; a list of texts is needed"),
    "texts without end": (f'"architectures": ["{"a" * 20_000}"]', "a list of texts is needed"),
    "list for a number": ('"vocab_size": [1, 2]', "a list of 2 as 'vocab_size'; a whole number is needed"),
    "text for a switch": ('"is_decoder": "no"', "'no' as 'is_decoder'; true or false is needed"),
    "NaN": ('"layer_norm_eps": NaN', "JSON cannot be read"),
    "infinity": ('"layer_norm_eps": Infinity', "JSON cannot be read"),
    "beyond every number": ('"layer_norm_eps": 1e400', "JSON cannot be read"),
    "negative": ('"num_hidden_layers": -3', "a number of 1 or more is needed"),
    "no layers": ('"num_hidden_layers": 0', "a number of 1 or more is needed"),
    "no heads": ('"num_attention_heads": 0', "a number of 1 or more is needed"),
    "heads below none": ('"num_attention_heads": -1', "a number of 1 or more is needed"),
    "negative size": ('"hidden_size": -64', "a number of -1 or more is needed"),
    "huge": ('"vocab_size": 1000000000000', "at most 100,000,000 are read"),
    "of thirty digits": (f'"num_hidden_layers": {10**30}', "a whole number is needed"),
    "ten million labels": ('"num_labels": 10000000', "at most 100,000 are read .INSIDE_BERT_MAX_LABELS"),
    "a list of names as labels": ('"num_labels": "three"', "a whole number is needed"),
    "duplicate keys": ('"num_hidden_layers": 2, "num_hidden_layers": 1000000', "at most 2,048 are read"),
    "deep lists": (f'"other": {"[" * 400}{"]" * 400}', "more than 32 levels deep"),
    "deep objects": ('"other": ' + '{"a": ' * 60 + "1" + "}" * 60, "more than 32 levels deep"),
    "deeper than JSON": (f'"other": {"[" * 100_000}', "JSON cannot be read"),
    "a million lists": (f'"other": [{"[]," * MILLION}[]]', "lists about"),
}
"""Fault of a config -> its JSON entries, and part of the expected message."""
MODULES = [
    {"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
]


AT_WORK = "a" * 64 + "!"
"""A text on which a hostile tokenizer never ends."""
SLOW, GROWS = r"^(?:(?:a|aa|a?)+)+$", {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"}


def set_tokenizer(folder: Path, **parts: Any) -> Path:
    """Replace parts of a tokenizer.json."""
    set_json(folder, "tokenizer.json", **parts)
    return folder


def _split(folder: Path) -> None:
    pattern = {"type": "Split", "pattern": {"Regex": SLOW}, "behavior": "Isolated", "invert": False}
    set_tokenizer(folder, pre_tokenizer=pattern)


def _replaces(folder: Path) -> None:
    set_tokenizer(folder, normalizer={"type": "Replace", "pattern": {"Regex": SLOW}, "content": ""})


def _grows(folder: Path) -> None:
    set_tokenizer(folder, normalizer={"type": "Sequence", "normalizers": [GROWS] * 20})


def _template(folder: Path) -> None:
    piece = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    single = [piece] * 30_000 + [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    special = {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}
    template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    set_tokenizer(folder, post_processor=template)


def _sparse(folder: Path) -> None:
    with open(folder / "tokenizer.json", "r+b") as file:
        file.truncate(20 * 1024**3)


def _pipe(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")


def _longest(folder: Path) -> None:
    set_json(folder, "tokenizer_config.json", model_max_length=[1])


TOKENIZERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pattern that never ends": (_split, "broke off|seconds"),
    "a normaliser that never ends": (_replaces, "broke off|seconds"),
    "a normaliser that grows": (_grows, "memory|seconds|broke off|tokens of"),
    "a template of thirty thousand tokens": (_template, "tokens of|seconds"),
    "a file of 20 GB without content": (_sparse, "the limit for this kind of file"),
    "a pipe": (_pipe, "not an ordinary file"),
    "a list as the longest": (_longest, "a list of 1 as model_max_length"),
}
"""Fault of a tokenizer -> function that writes it into a folder, and part of the expected message."""


def model_folder(folder: Path) -> Path:
    """A working tiny BERT with sentence modules and a vocab.txt."""
    save_tiny("bert", folder)
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(sorted(words, key=words.__getitem__)) + "\n")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    (folder / "modules.json").write_text(json.dumps(MODULES[:2]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


def secret_file(folder: Path) -> Path:
    """A file of the server that can be read as a vocabulary; next to it the same as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", SECRET, *(f"{SECRET}{index}" for index in range(20))]
    (folder / "secret.txt").write_text("\n".join(lines))
    (folder / "secret.json").write_text(json.dumps({line: index for index, line in enumerate(lines)}))
    return folder / "secret.txt"


def placed(name: str, place: Callable[[Path], Any], folder: Path) -> None:
    """Replace a file of a folder."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if name.startswith("2_Dense"):
        (folder / "modules.json").write_text(json.dumps(MODULES))
        (path.parent / "config.json").write_text('{"activation_function": "torch.nn.Identity"}')
    if name == "model.safetensors.index.json":
        (folder / "model.safetensors").unlink()
    path.unlink(missing_ok=True)
    place(path)


def set_json(folder: Path, name: str, **entries: Any) -> None:
    """Change entries of a JSON file."""
    path = folder / name
    whole = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**whole, **entries}))


def directory(path: Path) -> None:
    """Create a folder in place of a file."""
    path.mkdir()


def endless(path: Path) -> None:
    """Create a link to an endless device."""
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    """Create a link to itself."""
    path.symlink_to(path.name)


def terminal(path: Path) -> None:
    """Create a socket."""
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link_to(target: Path) -> Callable[[Path], None]:
    """Return a function that creates a link to a file elsewhere."""

    def outside(path: Path) -> None:
        path.symlink_to(target)

    return outside


def refusing(tried: list[Any]) -> Callable[..., Any]:
    """A network function that always fails and records its calls."""

    def refused(*address: Any, **_named: Any) -> Any:
        tried.append(address[-1:])
        raise OSError("the network is closed")

    return refused


@contextmanager
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Make all connections fail, and record the attempts."""
    tried: list[Any] = []
    refused = refusing(tried)
    with monkeypatch.context() as closed:
        for name in ("connect", "connect_ex"):
            closed.setattr(socket.socket, name, refused)
        for name in ("getaddrinfo", "create_connection"):
            closed.setattr(socket, name, refused)
        yield tried


def copied(folder: Path, target: Path) -> Path:
    """A copy of a folder; links are kept as links."""
    return Path(shutil.copytree(folder, target, symlinks=True))
