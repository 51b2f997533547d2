"""Fixtures of all tests: runtime checks of shapes, no network, tiny models of every family."""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "0")
# Tests run in parallel with tiny models, so more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# A process per tiny model would take seconds in each test; tests of these processes enable them.
os.environ.setdefault("INSIDE_BERT_ISOLATE_MODELS", "0")
# GPU results are compared with a CPU in tests/models/test_gpu.py; all other tests compare results of one device.
os.environ.setdefault("INSIDE_BERT_DEVICE", "cpu")
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from tests.helpers.shape_checks import check_package, choose_checks, mark_first_examples

check_package("bertviz_core")

import dataclasses
import gc
import tracemalloc
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from streamlit.components.v2 import manifest_scanner

from bertviz_core.settings import Settings
from tests.helpers.sample import leave_to_the_slow

# The same cases in every run, even on a busy machine.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples outside a test's sample as slow, and put the browser tests first.

    An idle process takes tests from the end of another's list. Browser tests there would start a further browser and
    dashboard in each process.
    """
    leave_to_the_slow(items)
    mark_first_examples(items)
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection during the import of tests, and exclude imported objects from later collections.

    All of them stay alive; collections would take seconds during the import, and half a second each afterwards.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose whether array shapes are checked in this example."""
    choose_checks(item)


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """Search the installed packages for components once per session, instead of once per `AppTest`.

    The search reads the metadata of about 200 packages, which takes longer than most pages.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with an empty models folder and the Hub switched off."""
    models = tmp_path / "models"
    models.mkdir()
    current = Settings.from_environment()
    return dataclasses.replace(
        current, models_dir=models, allow_hub=False, allowed_models=(), hub_endpoint="http://127.0.0.1:9"
    )


@pytest.fixture(autouse=True)
def nothing_is_traced() -> Iterator[None]:
    """Fail where a test leaves memory traced: every later test of the process would take four times as long."""
    yield
    assert not tracemalloc.is_tracing()


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the main module, which Streamlit replaces by the page it runs: spawned processes would run it, too."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store sentence vectors in a temporary folder, not in the user's cache."""
    monkeypatch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path_factory.getbasetemp() / "store"))
