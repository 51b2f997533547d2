"""What all tests share: shapes of results checked at run time, no network, tiny models of every family."""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "0")
# Tests run side by side and their models are tiny: threads of one would only wait for those of another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# A process for each tiny model would take seconds of each test; those of the processes themselves ask for them.
os.environ.setdefault("INSIDE_BERT_ISOLATE_MODELS", "0")
# What a GPU computes is compared with a CPU in tests/models/test_gpu.py; all others compare like with like.
os.environ.setdefault("INSIDE_BERT_DEVICE", "cpu")
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from jaxtyping import install_import_hook

import tests.helpers.shape_checks  # noqa: F401  # the hook looks it up by its name

install_import_hook("bertviz_core", "tests.helpers.shape_checks.checked")

import dataclasses
import gc
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from streamlit.components.v2 import manifest_scanner

from bertviz_core.settings import Settings
from tests.helpers.sample import leave_to_the_slow

# The same cases in every run, however busy the machine is.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Call those examples slow that the sample of their test leaves out."""
    leave_to_the_slow(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are imported, and leave what was imported out of later collections.

    All of it stays: to look through it takes seconds while it grows, and half a second each time afterwards.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """Look through the installed packages for components once a session; every new `AppTest` would do it again.

    That reads the metadata of some 200 packages, which takes longer than most pages.
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
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back the main module, for which Streamlit puts the page that it runs: spawned processes would run it, too."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep sentence vectors in the tests' own folder, not in the user's cache."""
    monkeypatch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path_factory.getbasetemp() / "store"))
