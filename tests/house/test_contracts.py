"""Every import contract fails for an import that it forbids."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BREAKS = {
    "The library's layers": ("bertviz_core/text.py", "import bertviz_core.models.sources"),
    "The science knows no screen": ("bertviz_core/heads/weights.py", "import plotly"),
    "Figures draw results and nothing else": (
        "bertviz_core/figures/tokens.py",
        "import bertviz_core.trace.tokenization",
    ),
    "The library knows no dashboard": ("bertviz_core/cli/options.py", "import streamlit"),
    "A question knows no face": ("bertviz_core/questions/corpora.py", "import typer"),
    "The parameter page comes before torch": ("bertviz_core/parameters/tree.py", "import torch"),
    "The dashboard's layers": ("ui/cache/figures.py", "import ui.widgets.heading"),
    "A page's views know no other page's": ("ui/views/heads.py", "import ui.views.words"),
    "No circles": ("bertviz_core/trace/cost.py", "import bertviz_core.trace.run"),
    "ui leaves plotly to figures": ("ui/widgets/heading.py", "import plotly"),
    "Pages ask and draw, they do not compute": ("pages/heads.py", "import torch"),
}

MOST_EXCEPTIONS = 8


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources and their contracts."""
    place = tmp_path_factory.mktemp("contracts")
    for name in ("bertviz_core", "ui", "pages"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def contracts(place: Path) -> dict[str, bool]:
    """Name of each contract -> whether it holds."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    printed = subprocess.run(command, cwd=place, capture_output=True, text=True).stdout
    lines = [line.strip() for line in printed.splitlines()]
    return {
        line.partition(f" {word}")[0]: word == "KEPT"
        for line in lines
        for word in ("KEPT", "BROKEN")
        if f" {word}" in line
    }


def test_figures_take_pandas_alone_from_the_lazy_imports() -> None:
    lines = {
        line
        for path in (ROOT / "bertviz_core" / "figures").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "lazy_imports" in line
    }
    assert lines == {"from bertviz_core.lazy_imports import pandas as pd"}


def test_all_contracts_are_kept(copy: Path) -> None:
    kept = contracts(copy)
    assert set(kept) == set(BREAKS)
    assert all(kept.values()), kept


def exceptions(pyproject: Path) -> list[str]:
    """The imports that contracts ignore."""
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [line for contract in settings["contracts"] for line in contract.get("ignore_imports", [])]


def test_contracts_have_few_exceptions(tmp_path: Path) -> None:
    assert len(exceptions(ROOT / "pyproject.toml")) <= MOST_EXCEPTIONS
    (tmp_path / "pyproject.toml").write_text('[[tool.importlinter.contracts]]\nignore_imports = ["a -> b", "b -> c"]\n')
    assert exceptions(tmp_path / "pyproject.toml") == ["a -> b", "b -> c"]


def test_every_contract_can_be_broken(copy: Path) -> None:
    before = {name: (copy / name).read_text(encoding="utf-8") for name, _ in BREAKS.values()}
    for name, line in BREAKS.values():
        text = (copy / name).read_text(encoding="utf-8")
        (copy / name).write_text(f"{text}\n{line}\n", encoding="utf-8")
    try:
        assert not any(contracts(copy).values())
    finally:
        for name, text in before.items():
            (copy / name).write_text(text, encoding="utf-8")
