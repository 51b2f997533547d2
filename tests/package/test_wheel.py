"""Content of the wheel: the whole library and dashboard under one name; its dependencies admit the pinned versions."""

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bertviz_core import __version__
from tests.package.conftest import ROOT, packages, ran

DASHBOARD = "bertviz_core/_dashboard"
PIN = re.compile(r"^[A-Za-z][\w.\[\],-]*==\S+$", re.MULTILINE)
OF_DASHBOARD = {"streamlit", "starlette", "prometheus-client", "pyyaml"}
OF_ONE_FEATURE = {"usearch", "scikit-learn", "kaleido", "python-pptx"}


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def required(lines: Iterable[str]) -> dict[str, Requirement]:
    """Normalized name -> requirement."""
    return {re.sub(r"[-_.]+", "-", each.name).lower(): each for each in map(Requirement, lines)}


def tracked() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "bertviz_core", "ui", "pages"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def test_every_file_of_the_tree_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    names = {name if name.startswith("bertviz_core/") else f"{DASHBOARD}/{name}": name for name in tracked()}
    for name in ("app.py", ".streamlit/config.toml", "docs/glossary.md"):
        names[f"{DASHBOARD}/{name}"] = name
    assert (
        len({Path(name).suffix for name in names}) >= 10
    )  # including pages, styles, scripts, tables, fonts and lessons
    packed = {name: data for name, data in contents(wheel).items() if ".dist-info/" not in name}
    assert packed.keys() == names.keys()
    assert all(data == (ROOT / names[name]).read_bytes() for name, data in packed.items())


@pytest.mark.slow
def test_two_names_are_installed(environment: Path) -> None:
    here = {path.name for path in packages(environment).iterdir() if path.suffix != ".pth"}
    assert here == {"bertviz_core", f"inside_bert-{__version__}.dist-info"}


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    ran([sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT], tmp_path)
    assert contents(next(tmp_path.glob("*.whl"))) == contents(wheel)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert "tests" not in tops
    assert {"LICENSE", "README.md", "pyproject.toml", "requirements.txt", "constraints.txt"} <= tops


@pytest.mark.parametrize(
    ("extra", "file", "some"),
    [
        ("", "requirements.txt", lambda name: name not in OF_DASHBOARD | OF_ONE_FEATURE),
        ("corpus", "requirements.txt", lambda name: name in ("usearch", "scikit-learn")),
        ("probes", "requirements.txt", lambda name: name == "scikit-learn"),
        ("images", "requirements.txt", lambda name: name == "kaleido"),
        ("slides", "requirements.txt", lambda name: name in ("python-pptx", "kaleido")),
        ("dashboard", "requirements.txt", lambda name: name in OF_DASHBOARD | OF_ONE_FEATURE),
        ("cluster", "requirements-cluster.txt", lambda name: name == "ray"),
        ("umap", "requirements-dev.txt", lambda name: name == "umap-learn"),
    ],
)
def test_the_pins_of_the_files_lie_within_the_ranges(wheel: Path, extra: str, file: str, some) -> None:
    metadata = next(data for name, data in contents(wheel).items() if name.endswith("METADATA"))
    requirements = message_from_bytes(metadata).get_all("Requires-Dist", [])
    marker = f"extra == '{extra}'"
    own = [line.partition(";")[0] for line in requirements if (marker in line if extra else "extra ==" not in line)]
    ranges = required(own)
    pins = {
        name: pin
        for name, pin in required(PIN.findall((ROOT / file).read_text(encoding="utf-8"))).items()
        if some(name)
    }
    assert ranges.keys() == pins.keys()
    for name, pin in pins.items():
        (version,) = (each.version for each in pin.specifier)
        assert ranges[name].specifier.contains(version), name
        assert ranges[name].extras == pin.extras
    assert own


@pytest.mark.slow
@pytest.mark.parametrize("file", ["constraints-oldest.txt", "requirements.txt"])
def test_an_install_replaces_no_version_that_is_there(wheel: Path, tmp_path: Path, file: str) -> None:
    """Without an index, pip installs a wheel only if what is there satisfies it, here by name and version alone."""
    ran([sys.executable, "-m", "venv", "--without-pip", tmp_path], tmp_path)
    there = required(PIN.findall((ROOT / file).read_text(encoding="utf-8")))
    for name, pin in there.items():
        (version,) = (each.version for each in pin.specifier)
        place = packages(tmp_path) / f"{name.replace('-', '_')}-{version}.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (place / "RECORD").touch()
    before = {path.name for path in packages(tmp_path).iterdir()}
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        tmp_path / "bin" / "python",
        "install",
    ]
    ran([*pip, "--no-index", f"{wheel}[corpus,probes,images,slides]"], tmp_path)
    after = {path.name for path in packages(tmp_path).iterdir()}
    assert after - before == {"bertviz_core", f"inside_bert-{__version__}.dist-info"}
    assert before <= after
