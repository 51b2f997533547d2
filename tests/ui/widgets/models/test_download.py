"""A model that is only on the Hub: the page offers it with its size, downloads it, and then shows it."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from tests.checkpoints.test_download import WANTED, repository
from tests.helpers.hub_server import Hub, running_hub
from tests.pages.opened import opened, visible_text
from ui.cache.jobs import board

WAIT_S = 30
NAME, HUB_ID = "bert-tiny", "google/bert_uncased_L-2_H-128_A-2"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub in the app's settings."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as running:
        monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "1")
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        running.repositories[HUB_ID] = repository(tmp_path)
        yield running
    streamlit.cache_resource.clear()


def fetched(at: AppTest) -> AppTest:
    """The page after the offered download has ended."""
    at.button(key="download_model").click().run()
    job = board().find(("download", NAME))
    if job is not None:
        assert job.wait(WAIT_S)
    return at.run()


def test_the_offer_names_the_size_and_the_page_comes_after_it(hub: Hub) -> None:
    at = opened("tokens", model=NAME)
    assert "not on this machine" in visible_text(at.info[0].value)
    nbytes = sum(len(hub.repositories[HUB_ID][name]) for name in WANTED)
    assert at.button(key="download_model").label == f"Download {nbytes / 2**20:.1f} MiB from the Hub"
    assert any(
        "BERT tiny, uncased (2 layers of 128). Licence: Apache-2.0." in visible_text(each.value) for each in at.caption
    )
    at = fetched(at)
    assert not at.exception
    assert not at.error
    assert not [button for button in at.button if button.key == "download_model"]


@pytest.mark.slow
def test_what_goes_wrong_is_said_and_can_be_tried_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    at = opened("tokens", model=NAME)
    hub.cut = 10
    at = fetched(at)
    assert not at.exception
    assert [visible_text(error.value) for error in at.error][-1].startswith("The Hub ")
    hub.cut = None
    at = fetched(at.button(key="retry_download").click().run())
    assert not at.exception
    assert not at.error


def test_where_the_hub_is_switched_off_nothing_is_offered(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    at = opened("tokens", model=NAME)
    assert any("switched off" in visible_text(each.value) for each in at.caption)
    assert not [button for button in at.button if button.key == "download_model"]


def test_a_hub_that_does_not_answer_is_named_beside_the_refusal(hub: Hub) -> None:
    hub.status = 503
    at = opened("tokens", model=NAME)
    assert not at.exception
    assert [visible_text(each.value) for each in at.caption if "Hub answered with an error" in each.value]
