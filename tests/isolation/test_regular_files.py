"""An untrusted model folder opens no file outside itself, and makes no requests.

Covers `bertviz_core/isolation/offline.py`.
"""

import dataclasses
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from bertviz_core.checkpoints.download import download, needed_files
from bertviz_core.checkpoints.load_report import report
from bertviz_core.checkpoints.values import open_checkpoint
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_NBYTES, own_file
from bertviz_core.isolation.sanitized.tokenizer import sanitized_tokenizer_folder
from bertviz_core.models import skeleton
from bertviz_core.models.catalog import BUNDLED, bundled_folder
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import fetch_config, resolve
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers import hostile
from tests.helpers.hub_server import running_hub

TEXT = f"I love {hostile.SECRET} python"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid model folder."""
    return hostile.model_folder(tmp_path_factory.mktemp("honest") / "model")


@pytest.fixture
def evil(settings: Settings, honest: Path) -> Path:
    """A copy of it in the models folder, to be made hostile."""
    return hostile.copied(honest, settings.models_dir / "evil")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return hostile.secret_file(tmp_path / "server")


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """End a test that waits for a pipe or reads an endless device."""

    def late(*_: Any) -> None:
        raise TimeoutError("it waits for a file that never ends")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def attempts(name: str, settings: Settings) -> dict[str, Callable[[], Any]]:
    """All operations on a model."""
    return {
        "tokenizer": lambda: load_tokenizer(resolve(name, settings), settings),
        "skeleton": lambda: skeleton.build_skeleton(name, resolve(name, settings).config),
        "weights": lambda: load_model(resolve(name, settings), settings),
        "sentences": lambda: recommended(resolve(name, settings), settings),
        "header": lambda: open_checkpoint(resolve(name, settings), settings),
        "report": lambda: report.source_load_report(resolve(name, settings), "base", settings),
    }


def opened(name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, only: str | None = None) -> dict[str, str]:
    """Result of each operation: "" or the refusal; asserts that nothing secret is in it, and no connection was tried.

    Args:
        only: one operation instead of all of them.
    """
    came: dict[str, str] = {}
    with hostile.no_network(monkeypatch) as tried:
        for what, attempt in attempts(name, settings).items():
            if only not in (None, what):
                continue
            try:
                found = attempt()
            except BertvizError as error:
                came[what] = str(error)
                continue
            came[what] = ""
            if what == "tokenizer":
                assert hostile.SECRET not in str(found.tokenizer.get_vocab())
                assert hostile.SECRET not in "".join(tokenize(found, TEXT).tokens)
    assert not tried
    assert hostile.SECRET not in str(came)
    return came


def places(secret: Path, folder: Path) -> dict[str, Any]:
    """One file of the server, named in every way."""
    climbing = os.path.relpath(secret, folder)
    named = {"absolute": str(secret), "climbing": climbing, "file": f"file://{secret}", "list": [str(secret)]}
    return {**named, "object": {"": str(secret), "path": str(secret)}, "json": str(secret.with_suffix(".json"))}


def in_turn(values: dict[str, Any], number: int) -> Any:
    """One of the values, in turn by number."""
    return [*values.values()][number % len(values)]


@pytest.mark.sample(38)
@pytest.mark.parametrize("vocabulary", [True, False], ids=["beside a vocabulary", "alone"])
@pytest.mark.parametrize("number", range(len(hostile.FILE_KEYS)), ids=hostile.FILE_KEYS)
def test_a_tokenizers_setting_names_no_file(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, number: int, vocabulary: bool
) -> None:
    if not vocabulary:
        (evil / "vocab.txt").unlink()
    ways = places(secret, evil)
    for step, file in enumerate(("tokenizer_config.json", "special_tokens_map.json")):
        hostile.set_json(evil, file, **{hostile.FILE_KEYS[number]: in_turn(ways, number + step + 3 * vocabulary)})
    opened("evil", settings, monkeypatch, only="tokenizer")


@pytest.mark.parametrize("vocabulary", [True, False], ids=["beside a vocabulary", "alone"])
@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
def test_all_settings_at_once_name_no_file_in_any_way(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, file: str, vocabulary: bool
) -> None:
    if not vocabulary:
        (evil / "vocab.txt").unlink()
    for place in places(secret, evil).values():
        hostile.set_json(evil, file, **dict.fromkeys(hostile.FILE_KEYS, place))
        opened("evil", settings, monkeypatch, only="tokenizer")


@pytest.mark.parametrize("part", ["vocab", "merges"])
@pytest.mark.parametrize("kind", ["WordPiece", "BPE", "WordLevel", "Unigram"])
def test_a_serialized_tokenizer_names_no_file(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, kind: str, part: str
) -> None:
    for family in ("BertTokenizer", "RobertaTokenizer", "PreTrainedTokenizerFast", "T5Tokenizer"):
        model = {"type": kind, "vocab": {"[UNK]": 0}, "merges": [], "unk_token": "[UNK]", part: str(secret)}
        (evil / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
        (evil / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": family}))
        assert opened("evil", settings, monkeypatch, only="tokenizer")["tokenizer"]


NESTED = ("text_config", "encoder", "backbone_config")


def config_places(secret: Path, folder: Path) -> dict[str, Any]:
    """Files of the server and repositories of the Hub, named in every way."""
    return {**places(secret, folder), "repository": "evil/backbone", "name": "evil", "kernel": {"": "evil/kernel"}}


@pytest.mark.sample(8)
@pytest.mark.parametrize("number", range(len(hostile.CONFIG_KEYS)), ids=hostile.CONFIG_KEYS)
def test_a_config_entry_names_no_file_and_no_repository(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    ways, key = config_places(secret, evil), hostile.CONFIG_KEYS[number]
    inner = {
        name: {"model_type": "bert", key: in_turn(ways, number + depth)} for depth, name in enumerate(NESTED, start=1)
    }
    hostile.set_json(evil, "config.json", **{key: in_turn(ways, number)}, **inner)
    opened("evil", settings, monkeypatch)


@pytest.mark.parametrize("nested", ["", *NESTED])
def test_all_config_entries_at_once_name_no_file_and_no_repository(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, nested: str
) -> None:
    for place in config_places(secret, evil).values():
        entries = dict.fromkeys(hostile.CONFIG_KEYS, place)
        hostile.set_json(evil, "config.json", **({nested: {"model_type": "bert", **entries}} if nested else entries))
        opened("evil", settings, monkeypatch)


KINDS: dict[str, Callable[[Path], Any]] = {
    "pipe": os.mkfifo,
    "endless": hostile.endless,
    "loop": hostile.loop,
    "directory": hostile.directory,
    "terminal": hostile.terminal,
}
READERS = ("config.json", "model.safetensors", "vocab.txt")
"""One file for each reader: JSON, tensors, words."""
REPLACED = sorted(
    {(name, "outside") for name in hostile.NAMES}
    | {(name, [*KINDS][number % len(KINDS)]) for number, name in enumerate(hostile.NAMES)}
    | {(name, kind) for name in READERS for kind in (*KINDS, "json outside")}
)
"""Every file as a link to a server file and as one kind of special file; one file of each reader as all kinds."""


@pytest.mark.parametrize(("name", "kind"), REPLACED)
def test_a_file_is_a_regular_file_of_the_folder(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    links = {"outside": secret, "json outside": secret.with_suffix(".json")}
    hostile.placed(name, hostile.link_to(links[kind]) if kind in links else KINDS[kind], evil)
    came = opened("evil", settings, monkeypatch)
    assert any(came.values())
    refusals = [words for words in came.values() if words]
    assert all(str(secret.parent) not in words and words.rstrip().endswith(".") for words in refusals)


@pytest.mark.parametrize("kind", ["outside", "pipe", "endless", "directory", "loop"])
def test_a_shard_is_a_regular_file_of_the_folder(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, kind: str, tmp_path: Path
) -> None:
    shard = tmp_path / "shard.safetensors"
    (evil / "model.safetensors").rename(shard)
    (hostile.link_to(shard) if kind == "outside" else KINDS[kind])(evil / "model-1.safetensors")
    index = {"metadata": {}, "weight_map": {"embeddings.word_embeddings.weight": "model-1.safetensors"}}
    (evil / "model.safetensors.index.json").write_text(json.dumps(index))
    came = opened("evil", settings, monkeypatch)
    assert came["weights"]
    assert came["header"]


@pytest.mark.sample(6)
@pytest.mark.parametrize("place", ["/etc", "../../server", "1_Pooling/../../..", "link", "link/deeper", "", "."])
def test_sentence_modules_stay_in_the_folder(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (secret.parent / "config.json").write_text(json.dumps({"pooling_mode": hostile.SECRET}))
    (evil / "link").symlink_to(secret.parent)
    modules = [*hostile.MODULES[:1], {"type": "sentence_transformers.models.Pooling", "path": place}]
    (evil / "modules.json").write_text(json.dumps(modules))
    came = opened("evil", settings, monkeypatch)
    assert bool(came["sentences"]) == (place not in ("", "."))


def test_a_dense_layer_that_is_a_link_is_not_read(
    evil: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secret.parent / "config.json").write_text(json.dumps({"activation_function": hostile.SECRET}))
    (evil / "2_Dense").symlink_to(secret.parent)
    (evil / "modules.json").write_text(json.dumps(hostile.MODULES))
    assert "2_Dense/config.json" in opened("evil", settings, monkeypatch)["sentences"]


def test_an_adapter_asks_for_no_base_model(evil: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = {"base_model_name_or_path": "evil/base", "peft_type": "LORA", "revision": "main"}
    (evil / "adapter_config.json").write_text(json.dumps(adapter))
    assert not any(opened("evil", settings, monkeypatch).values())


@pytest.mark.parametrize("model_type", ["detr", "upernet", "dpt", "timm_backbone", "timm_wrapper", "tvp", "vitpose"])
def test_the_hub_is_not_asked_for_a_part_of_a_model(
    evil: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, model_type: str
) -> None:
    for more in ({}, {"use_timm_backbone": False}, {"use_timm_backbone": False, "backbone_kwargs": {"a": "evil/b"}}):
        config = {"model_type": model_type, "backbone": "evil/backbone", "architecture": "hf-hub:evil/model", **more}
        (evil / "config.json").write_text(json.dumps(config))
        opened("evil", settings, monkeypatch)


def test_what_a_library_asks_for_itself_is_refused_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled

    from bertviz_core.isolation.offline import unplugged

    with running_hub() as hub, unplugged():
        with pytest.raises(OfflineModeIsEnabled):
            HfApi(endpoint=hub.endpoint).repo_exists("evil/backbone")
        assert not hub.served


@pytest.mark.slow
def test_a_visitors_repository_reads_no_file_of_the_server(
    honest: Path, secret: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as hub:
        online = dataclasses.replace(settings, allow_hub=True, hub_endpoint=hub.endpoint)
        files = {str(path.relative_to(honest)): path.read_bytes() for path in honest.rglob("*") if path.is_file()}
        for number in range(4):
            name = f"evil/reader{number}"
            written_config = {
                "tokenizer_class": "BertTokenizer",
                **dict.fromkeys(hostile.FILE_KEYS[number::4], str(secret)),
            }
            hub.repositories[name] = {**files, "tokenizer_config.json": json.dumps(written_config).encode()}
            if number % 2:
                del hub.repositories[name]["vocab.txt"]
            download(needed_files(resolve(name, online), online), online, lambda done, total: None)
            hub.served.clear()
            opened(name, settings, monkeypatch)
            assert not hub.served


def test_a_snapshot_of_the_hub_is_its_own_folder(
    honest: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as hub:
        online = dataclasses.replace(settings, allow_hub=True, hub_endpoint=hub.endpoint)
        for name in ("good/model", "good/other"):
            files = {str(path.relative_to(honest)): path.read_bytes() for path in honest.rglob("*") if path.is_file()}
            hub.repositories[name] = files
            folder = download(needed_files(resolve(name, online), online), online, lambda done, total: None)
    assert (folder / "config.json").is_symlink()
    assert not any(opened("good/model", settings, monkeypatch).values())
    neighbour = (folder.parents[2] / "models--good--model" / "blobs").iterdir()
    (folder / "extra.txt").symlink_to(next(neighbour))
    with pytest.raises(CheckpointError, match="link out of"):
        own_file(folder, "extra.txt")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt", "modules.json", "added_tokens.json"]
)
def test_a_file_too_large_for_its_kind_is_not_read(
    evil: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with open(evil / name, "ab") as file:
        file.truncate(300 * 1024**2)
    refusals = [words for words in opened(name="evil", settings=settings, monkeypatch=monkeypatch).values() if words]
    assert refusals
    assert all("314,572,800" in words for words in refusals)


def test_a_config_of_the_hub_is_asked_for_its_size_first(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as hub:
        hub.repositories["evil/large"] = {
            "config.json": b'{"model_type": "bert", "x": "' + bytes(CONFIG_NBYTES) + b'"}'
        }
        with pytest.raises(CheckpointError, match="bytes"):
            fetch_config("evil/large", None, hub.endpoint)
        assert max(size for path, size in hub.served if "/resolve/" in path) == 0


def test_an_honest_model_is_read_as_before(evil: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(opened("evil", settings, monkeypatch).values())
    tokens = tokenize(load_tokenizer(resolve("evil", settings), settings), "I love my pet python")
    assert tokens.tokens[1:5] == ("i", "love", "my", "pet")


@pytest.mark.parametrize("word", ["/", "..", "/etc/passwd", "~", "a\\b", "http://x"])
def test_a_token_may_look_like_a_path(evil: Path, settings: Settings, word: str) -> None:
    lines = (evil / "vocab.txt").read_text().splitlines()
    (evil / "vocab.txt").write_text("\n".join([*lines, word]))
    piece = {"content": word, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    decoder = {str(len(lines)): piece}
    hostile.set_json(evil, "tokenizer_config.json", mask_token=word, added_tokens_decoder=decoder)
    found = load_tokenizer(resolve("evil", settings), settings)
    assert found.tokenizer.mask_token == word
    assert word in tokenize(found, f"love {word} python").tokens


def test_the_folders_lent_are_gone_behind_a_load_and_behind_an_error(
    evil: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lent = tmp_path / "lent"
    lent.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(lent))
    with sanitized_tokenizer_folder(evil, {"model_type": "bert"}) as folder:
        assert {path.name for path in folder.iterdir()} == {"config.json", "tokenizer_config.json", "vocab.txt"}
    opened("evil", settings, monkeypatch)
    (evil / "tokenizer.json").write_text("{}")
    hostile.set_json(evil, "config.json", vocab_size=3)
    came = opened("evil", settings, monkeypatch)
    assert came["tokenizer"]
    assert came["weights"]
    assert not list(lent.iterdir())


@pytest.fixture(scope="module")
def bundled_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the bundled model, to be changed one file at a time."""
    return hostile.copied(bundled_folder(), tmp_path_factory.mktemp("bundled") / "model")


@pytest.mark.parametrize("name", [*BUNDLED["all-MiniLM-L6-v2"].small_files])
def test_a_bundled_file_that_was_changed_is_found_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, bundled_copy: Path, name: str
) -> None:
    raw = (bundled_copy / name).read_bytes()
    monkeypatch.setattr("bertviz_core.models.catalog.bundled_folder", lambda _: bundled_copy)
    try:
        (bundled_copy / name).write_bytes(raw.replace(b'"hate"', b'"bate"') if b'"hate"' in raw else raw + b"\n")
        came = opened("all-MiniLM-L6-v2", settings, monkeypatch)
    finally:
        (bundled_copy / name).write_bytes(raw)
    assert any("SHA-256" in words for words in came.values())
