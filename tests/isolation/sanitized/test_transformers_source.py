"""Sanitized configs against the source of transformers: no remaining entry is opened as a file or requested.

Covers `bertviz_core/isolation/sanitized/config.py`, `bertviz_core/isolation/sanitized/tokenizer.py`,
`bertviz_core/isolation/sanitized/tokenizer.py`.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviz_core.isolation.sanitized.config import harmless_config
from bertviz_core.isolation.sanitized.tokenizer import (
    ADDED,
    SERIALIZED,
    VOCABULARIES,
    harmless_bytes,
    harmless_tokenizer_config,
)
from bertviz_core.isolation.sanitized.tokenizer import TOKENIZER_FILES_SETTINGS as LENT_SETTINGS

ROOT = Path(transformers.__file__).parent
SINKS = re.compile(
    r"open|load|Load|LoadFromFile|from_file|cached_file|cached_files|hf_hub_download|snapshot_download|from_pretrained"
    r"|get_config_dict|repo_exists|model_info|create_model|get_kernel|load_and_register_attn_kernel|load_dataset"
    r"|load_from_disk|isfile|isdir|exists|lazy_import_flash_attention|lazy_import_paged_flash_attention"
    r"|get_class_from_dynamic_module|_get_resolved_checkpoint_files|_check_and_adjust_attn_implementation"
    r"|_check_and_adjust_experts_implementation|load_vocab|load_json|load_merges|Dictionary|GenericTagger|Jumanpp|Tokenizer"
)
"""Functions that open a file, query a repository or run its code, and functions of the library that call them."""
CALLED = re.compile(rf"^(?!\s*(>>>|\.\.\. )).*\b({SINKS.pattern})\(", re.MULTILINE)
"""Matches calls of these functions in a module, outside examples."""
DECLARING = ("configuration_", "tokenization_", "backbone_utils")
"""Prefixes of modules that are read for their declarations."""
NO_PLACE = {
    # A nested config, which is sanitized by the same rules.
    *("backbone_config", "text_config", "vision_config", "audio_config", "encoder", "decoder", "question_encoder"),
    *("generator", "sub_configs", "model_type", "dtype", "to_dict", "get_text_config", "_commit_hash"),
    # Numbers and switches.
    *("features_only", "output_stride", "retrieval_vector_size"),
    # A name within timm, which is built without requests; values that are more than a name are tested below.
    "architecture",
}
KNOWN_CONFIG = {"transformers_weights", "_attn_implementation", "_experts_implementation", "name_or_path", "backbone"}
KNOWN_CONFIG |= {"index_path", "passages_path", "dataset", "index_name", "attn_implementation", "dataset_revision"}
KNOWN_FILES = {"vocab_file", "merges_file", "spm_file", "emoji_file", "source_spm", "target_spm", "tokenizer_file"}
KNOWN_FILES |= {"word_shape_file", "entity_vocab_file", "normalizer_file", "gguf_file", "sudachi_config_path"}


Module = tuple[Path, ast.Module]
"""A parsed module of the library."""


@cache
def source() -> tuple[tuple[Module, ...], tuple[ast.Call, ...]]:
    """The modules with declarations, and all calls, in any module, of functions that open or request.

    The other modules, which are most and the longest, are not kept as trees: every later garbage collection would visit
    them.
    """
    paths = [path for path in ROOT.rglob("*.py") if not {"cli", "testing_utils.py"} & set(path.relative_to(ROOT).parts)]
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths if not path.name.startswith("modular_"))
    modules: list[Module] = []
    found: list[ast.Call] = []
    for path, text in texts:
        declares = path.name.startswith(DECLARING)
        if not declares and not CALLED.search(text):
            continue
        tree = ast.parse(text)
        found += [node for node in ast.walk(tree) if isinstance(node, ast.Call) and SINKS.fullmatch(called(node))]
        if declares:
            modules.append((path, tree))
    return tuple(modules), tuple(found)


def trees() -> tuple[Module, ...]:
    """The modules that are read for their declarations."""
    return source()[0]


def called(node: ast.Call) -> str:
    """The last part of the name of a called function."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def config_entry(node: ast.AST) -> str | None:
    """X in config.X, self.config.X, getattr(config, "X") and config["X"]."""
    if isinstance(node, ast.Attribute) and is_config(node.value):
        return node.attr
    if isinstance(node, ast.Subscript) and is_config(node.value) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Call) and called(node) in ("getattr", "get", "pop"):
        owner, names = (
            (node.args[0], node.args[1:])
            if called(node) == "getattr"
            else (getattr(node.func, "value", node), node.args)
        )
        if is_config(owner) and names and isinstance(names[0], ast.Constant):
            return str(names[0].value)
    return None


def is_config(node: ast.AST) -> bool:
    word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return word in ("config", "cfg", "config_dict", "base_config", "rag_config")


@cache
def opened_config_entries() -> frozenset[str]:
    """Entries of a config passed to a function that opens or requests, and other arguments of such functions."""
    found = set()
    for call in source()[1]:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        found |= {entry for each in given for node in ast.walk(each) if (entry := config_entry(node)) is not None}
    found |= popped(ROOT / "backbone_utils.py", "consolidate_backbone_kwargs_to_config") - {"use_timm_backbone"}
    found |= popped(ROOT / "configuration_utils.py", "__post_init__") & {
        name
        for name in popped(ROOT / "configuration_utils.py", "__post_init__")
        if "implementation" in name or "path" in name
    }
    for path, tree in trees():
        if path.name.startswith("configuration_"):
            found |= {
                name
                for name in declared(tree)
                if re.fullmatch(r".*(_path|_file|_files|_dir|_url|dataset.*|index_name)", name)
            }
    return frozenset(name for name in found if name not in NO_PLACE and not is_method(name))


def is_method(name: str) -> bool:
    return callable(getattr(transformers.PreTrainedConfig, name, None))


def popped(path: Path, function: str) -> set[str]:
    """Names that a function removes from its keyword arguments."""
    tree = next(tree for each, tree in trees() if each == path)
    (body,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function]
    used = [node for node in ast.walk(body) if isinstance(node, ast.Call) and called(node) in ("pop", "get")]
    return {str(call.args[0].value) for call in used if call.args and isinstance(call.args[0], ast.Constant)}


def declared(tree: ast.Module) -> set[str]:
    """Fields of config classes that may contain a text."""
    fields = [
        field
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and "str" in ast.unparse(field.annotation)
    ]
    return {field.target.id for field in fields if isinstance(field.target, ast.Name)}


@cache
def tokenizer_trees() -> tuple[ast.Module, ...]:
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("tokenization_*.py")))


@cache
def opened_tokenizer_arguments() -> frozenset[str]:
    """Arguments of tokenizers that are passed to a function that opens, or whose name is that of a file."""
    found = set(vocabulary_names())
    for tree in tokenizer_trees():
        for owner in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
            methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
            begun = [method for method in methods if method.name == "__init__"]
            arguments = {each.arg for method in begun for each in (*method.args.args, *method.args.kwonlyargs)} - {
                "self"
            }
            for node in [node for method in methods for node in ast.walk(method)]:
                if isinstance(node, ast.Call) and SINKS.fullmatch(called(node)):
                    given = [*node.args, *(keyword.value for keyword in node.keywords)]
                    words = {word for each in given for part in ast.walk(each) if (word := argument(part))}
                    found |= words & arguments
            for method in begun:
                found |= {str(call.args[0].value) for call in ast.walk(method) if is_taken_file(call)}
            found |= {name for name in arguments if re.search(r"(_file|_path|_dir|_spm)$|^(vocab|merges)$", name)}
    # The text of a token is passed to models of the tokenizers library, not to functions that open.
    tokens = {name for name in found if name.endswith("_token")}
    return frozenset(found - tokens - {"kwargs", "pretrained_model_name_or_path"})


def argument(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def is_taken_file(node: ast.AST) -> Any:
    """Whether this reads an argument that names a file from kwargs."""
    if not (isinstance(node, ast.Call) and called(node) in ("pop", "get") and node.args):
        return False
    name = node.args[0]
    return isinstance(name, ast.Constant) and re.search(r"(_file|_path|_dir)$|^(vocab|merges)$", str(name.value))


@cache
def vocabulary_names() -> dict[str, set[str]]:
    """Argument -> file names, in every table of vocabulary files in the source."""
    found: dict[str, set[str]] = {}
    for tree in tokenizer_trees():
        for node in ast.walk(tree):
            names = [each.id for each in getattr(node, "targets", []) if isinstance(each, ast.Name)]
            if isinstance(node, ast.Assign) and "VOCAB_FILES_NAMES" in names and isinstance(node.value, ast.Dict):
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                        found.setdefault(str(key.value), set()).add(str(value.value))
    return found


@pytest.mark.slow
def test_the_walk_finds_what_is_known() -> None:
    """An empty search would agree with everything."""
    assert opened_config_entries() >= {
        "transformers_weights",
        "backbone",
        "_attn_implementation",
        "index_path",
        "dataset",
    }
    assert opened_tokenizer_arguments() >= KNOWN_FILES
    assert len(vocabulary_names()) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("value", ["gpt2", "/etc/passwd", {"": "gpt2"}, ["gpt2"]], ids=repr)
def test_no_entry_of_a_config_that_is_opened_survives(value: Any) -> None:
    for name in opened_config_entries() | KNOWN_CONFIG | {"auto_map", "custom_pipelines"}:
        config = {"model_type": "bert", name: value, "backbone_config": {name: value, "backbone_config": {}}}
        cleaned = harmless_config("evil", {**config, "text_config": {name: value, "backbone_config": {}}})
        assert cleaned == {
            "model_type": "bert",
            "backbone_config": {"backbone_config": {}},
            "text_config": {"backbone_config": {}},
        }, name


@pytest.mark.parametrize("place", ["hf-hub:evil/model", "hf_hub:evil", "local-dir:evil", "/etc/passwd", "../x", "~/x"])
@pytest.mark.parametrize("name", ["architecture", "model_name", "anything"])
def test_what_looks_like_a_place_survives_under_no_name(name: str, place: str) -> None:
    for value in (place, [place], {"a": {"b": [place]}}):
        assert place not in str(harmless_config("evil", {"model_type": "bert", name: value}))
    labels = {"id2label": {"0": place}, "label2id": {place: 0}}
    assert harmless_config("kept", labels) == labels


@pytest.mark.slow
@pytest.mark.parametrize("value", ["secret.txt", "/etc/passwd", ["secret.txt"], {"a": "secret.txt"}, 3], ids=repr)
def test_no_argument_of_a_tokenizer_that_is_opened_survives(value: Any) -> None:
    for name in vocabulary_names() if value == 3 else opened_tokenizer_arguments():
        assert harmless_tokenizer_config({name: value}) == {}, name


@pytest.mark.slow
def test_every_vocabulary_file_of_the_library_is_lent() -> None:
    """A tokenizer class of a new version that reads another file would lack its vocabulary."""
    names = {name for files in vocabulary_names().values() for name in files}
    assert names <= {SERIALIZED, ADDED, *LENT_SETTINGS, *VOCABULARIES}


def test_what_is_known_to_be_harmless_stays() -> None:
    """Every default of every tokenizer class that is a switch, a number or a token."""
    for tree in tokenizer_trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
                continue
            defaults = zip(reversed(node.args.args), reversed(node.args.defaults), strict=False)
            for each, default in defaults:
                value = default.value if isinstance(default, ast.Constant) else None
                harmless = isinstance(value, bool | int | float) or (each.arg.endswith("_token") and value)
                if harmless:
                    assert harmless_tokenizer_config({each.arg: value}) == {each.arg: value}


def test_json_that_is_a_bare_word_is_no_vocabulary() -> None:
    for name in (SERIALIZED, *LENT_SETTINGS, ADDED, *(each for each in VOCABULARIES if each.endswith(".json"))):
        with pytest.raises(Exception, match="not an object"):
            harmless_bytes(name, b'"/etc/passwd"')
