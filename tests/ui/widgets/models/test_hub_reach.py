"""A Hub that could not be reached is remembered: the list says so, and only a click or time asks it again."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from bertviz_core.errors import CheckpointError, UnreachableHubError
from tests.helpers.hub_server import running_hub
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, visible_text
from ui.cache.models import source
from ui.widgets import models

LOST, REACHED = "roberta-base · needs the Hub (not reached) · masked words", "roberta-base · Hub · masked words"


@pytest.fixture
def nobody(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Hub's address is a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "1")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    streamlit.cache_resource.clear()
    yield
    streamlit.cache_resource.clear()


@pytest.mark.usefixtures("nobody")
def test_the_list_and_the_page_say_that_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened("tokens", model="bert-base-uncased")
    assert not at.exception
    assert any(line.startswith(LOST) for line in at.sidebar.selectbox(key="model").options)
    assert any("cannot be reached" in visible_text(each.value) for each in at.caption)
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        at.run()
        assert not hub.served
        at.button(key="ask_hub").click().run()
        assert hub.served
    assert not models.is_lost()
    assert any(line.startswith(REACHED) for line in at.sidebar.selectbox(key="model").options)


def named_page() -> None:
    from ui.cache.models import source
    from ui.widgets.run_model import shown_to_user

    with shown_to_user():
        source("org/name")


@pytest.mark.usefixtures("nobody")
def test_a_typed_name_is_looked_up_once_until_the_reader_presses_the_button(monkeypatch: pytest.MonkeyPatch) -> None:
    at = AppTest.from_function(named_page).run()
    assert "could not be reached for 'org/name'" in visible_text(at.error[0].value)
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        at.run()
        assert "could not be reached for 'org/name'" in visible_text(at.error[0].value)
        assert not hub.served
        at.button(key="ask_hub").click().run()
        assert hub.served
        assert "no public model" in visible_text(at.error[0].value)
        assert not [each for each in at.button if each.key == "ask_hub"]


@pytest.mark.usefixtures("nobody")
def test_a_folder_of_a_name_that_was_not_reached_is_opened_at_once(models_dir: Path) -> None:
    with pytest.raises(UnreachableHubError):
        source("org/name")
    save_tiny("bert", models_dir / "org" / "name")
    assert source("org/name").has_weights


@pytest.mark.usefixtures("nobody")
def test_a_damaged_folder_of_a_name_that_was_not_reached_is_said_to_be_damaged(models_dir: Path) -> None:
    with pytest.raises(UnreachableHubError):
        source("org/name")
    folder = save_tiny("bert", models_dir / "org" / "name")
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="config.json"):
        source("org/name")


@pytest.mark.usefixtures("nobody")
def test_the_failure_is_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not models.is_lost()
    now = 1000.0
    monkeypatch.setattr(models, "monotonic", lambda: now)
    models.lost("It cannot be reached.")
    now += models.REMEMBERED_S - 1
    assert models.unreached_reason() == "It cannot be reached."
    now += 2
    assert not models.is_lost()
