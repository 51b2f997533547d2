"""Every page with the worst hostile folders: a refusal with a message, no exception, nothing of the server's files."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import hostile
from tests.pages.opened import SHELL, opened

PAGES = tuple(sorted(path.stem for path in (SHELL.parents[1] / "pages").glob("[!_]*.py")))


def named(folder: Path, secret: Path) -> None:
    """A vocabulary file named by the tokenizer's settings."""
    hostile.set_json(folder, "tokenizer_config.json", vocab=str(secret), vocab_file=str(secret))


def linked(folder: Path, secret: Path) -> None:
    """Files that are links out of the folder."""
    for name in ("vocab.txt", "1_Pooling/config.json"):
        hostile.placed(name, hostile.link_to(secret), folder)


def serialized(folder: Path, secret: Path) -> None:
    """A serialized tokenizer whose vocabulary is a path; a backbone on the Hub; weights that are a pipe."""
    model = {"type": "WordPiece", "vocab": str(secret), "unk_token": "[UNK]"}
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    hostile.set_json(folder, "config.json", backbone="evil/backbone")
    hostile.placed("model.safetensors", os.mkfifo, folder)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("harm", [named, linked, serialized], ids=lambda harm: str(harm.__name__))
def test_no_page_shows_a_file_of_the_server(
    models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path, Path], None], page: str
) -> None:
    secret = hostile.secret_file(tmp_path / "server")
    harm(hostile.model_folder(models_dir / "evil"), secret)
    requests: list[object] = []
    refused = hostile.refusing(requests)
    monkeypatch.setattr("huggingface_hub.utils._http.get_session", refused)
    monkeypatch.setattr("socket.create_connection", refused)
    at = opened(page, model="evil", text=f"I love {hostile.SECRET} python")
    assert not at.exception
    sent = " ".join(str(element.proto) for element in (*at.main, *at.sidebar) if hasattr(element, "proto"))
    shown = sent + " ".join(str(each.value) for each in (*at.markdown, *at.error, *at.warning, *at.dataframe))
    assert f"{hostile.SECRET}1" not in shown.replace("\\", "")
    assert str(secret.parent) not in shown
    assert not requests
