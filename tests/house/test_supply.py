"""Dependencies are pinned, the image's hashes and bill of materials agree, and audit exceptions are explained."""

import importlib.util
import json
import re
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from bertviz_core.lazy_imports import EXTRAS
from bertviz_core.models.catalog import BUNDLED
from bertviz_core.sentences.similarity import umap_available

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?==([\w.+!]+)", re.MULTILINE)
CHOSEN_BUILD = "torch"
"""The package with several builds: its version is pinned, but not its hash."""


def loaded(name: str) -> ModuleType:
    """Import a script of deploy/, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "deploy" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(*files: str) -> dict[str, str]:
    """Normalized name -> version pinned in these files."""
    found = (PIN.findall((ROOT / file).read_text(encoding="utf-8")) for file in files)
    return {re.sub(r"[-_.]+", "-", name).lower(): pinned for each in found for name, pinned in each}


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    sbom = loaded("sbom")
    document: dict[str, Any] = json.loads(json.dumps(sbom.bill(sbom.needed(sbom.required()))))
    return document


def test_all_that_serving_needs_is_pinned_and_installed_as_pinned(bill: dict[str, Any]) -> None:
    pinned = pins("requirements.txt", "constraints.txt")
    here = {each["name"]: each["version"].partition("+")[0] for each in bill["components"]}
    assert {name: pinned.get(name) for name in here} == here


def test_no_two_files_pin_one_package_differently() -> None:
    files = ["requirements.txt", "constraints.txt", "requirements-dev.txt", "benchmarks/requirements.txt"]
    found = [pins(file) for file in [*files, "deploy/requirements-hashed.txt", "deploy/requirements-sign-in.txt"]]
    for name in set().union(*found):
        assert len({each[name] for each in found if name in each}) == 1, name


@pytest.mark.slow
def test_the_oldest_versions_are_the_lower_bounds_of_the_ranges() -> None:
    """`make test-oldest` tests the lowest version of every range; only data files and the dashboard are pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (line for extra in EXTRAS for line in project["optional-dependencies"][extra])
    ranges = {Requirement(line) for line in (*project["dependencies"], *extras)}
    bounds = {each.name: [bound for bound in each.specifier if bound.operator in (">=", "==")] for each in ranges}
    lowest = {name: bound.version for name, (bound,) in bounds.items()}
    assert pins("constraints-oldest.txt") == {re.sub(r"[-_.]+", "-", name).lower(): low for name, low in lowest.items()}
    exact = {name for name, (bound,) in bounds.items() if bound.operator == "=="}
    assert exact == {packages_distributions()[files.package][0] for files in BUNDLED.values()}


def test_umap_is_a_requirement_of_the_tests() -> None:
    """Views and commands offer UMAP only where it is installed; `make test-oldest` is without it."""
    assert umap_available()


def test_the_image_installs_by_hash_what_serving_needs(bill: dict[str, Any]) -> None:
    hashed = pins("deploy/requirements-hashed.txt")  # resolved by another tool than the bill of materials
    assert set(hashed) == {each["name"] for each in bill["components"]} - {CHOSEN_BUILD}
    for file in ("requirements-hashed.txt", "requirements-sign-in.txt"):
        text = (ROOT / "deploy" / file).read_text(encoding="utf-8")
        entries = re.split(r"\n(?=[A-Za-z])", text)[1:]
        assert len(entries) == len(pins(f"deploy/{file}"))
        for entry in entries:
            assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry.partition("\n")[0]
        assert not re.search(r"https?://|file:|--index|--find-links", text)
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes -r deploy/requirements-hashed.txt" in dockerfile
    assert f"{CHOSEN_BUILD}=={version(CHOSEN_BUILD).partition('+')[0]}" in dockerfile
    assert "-r requirements.txt" not in dockerfile


def test_images_are_named_by_digest_and_the_same_everywhere() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    built_on = re.findall(r"^ARG PYTHON_IMAGE=(.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    images = {each["build"]["args"]["PYTHON_IMAGE"] for each in compose.values() if "build" in each}
    assert images == {f"${{PYTHON_IMAGE:-{image}}}" for image in built_on}
    pulled = [each["image"] for each in compose.values() if each.get("image", "").startswith("${")]
    named = [*built_on, *(each.partition(":-")[2].removesuffix("}") for each in pulled)]
    assert len(named) == 2
    assert all(re.fullmatch(r"[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in named)


def test_the_bill_of_materials_is_whole(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references) > 50
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in bill["components"])
    depends = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert set(depends) == {*references, bill["metadata"]["component"]["bom-ref"]}
    assert {each for needs in depends.values() for each in needs} <= set(references)
    assert all(each["licenses"][0]["license"]["name"] for each in bill["components"])


ANSWERS = {
    "a known one": ([{"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}], 1, "a 1: CVE-1"),
    "none": ([{"name": "a", "version": "1", "vulns": []}], 0, "no known vulnerability in 1 of 1"),
    "some not in the index": (
        [{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not found"}],
        *(0, "in 1 of 2 packages"),
    ),
    "an index without advisories": ([{"name": "b", "skip_reason": "not found"}], 0, "audit skipped: the index has no"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_audit_says_what_was_asked(answer: str) -> None:
    packages, code, words = ANSWERS[answer]
    found = loaded("audit").verdict(json.dumps({"dependencies": packages}), "")
    assert found[0] == code
    assert words in found[1]


@pytest.mark.parametrize("trouble", ["", "ConnectionError: no route\n", "No module named pip_audit"])
def test_an_audit_that_cannot_ask_is_skipped_with_its_reason(trouble: str) -> None:
    code, words = loaded("audit").verdict("", trouble)
    assert code == 0
    assert words == f"audit skipped: {trouble.strip() or 'no answer'}"
