"""A bill of materials of what serving needs, as installed here: CycloneDX 1.6, JSON on stdout.

python deploy/sbom.py > sbom.cdx.json, by the Python that serves; the image has its own, /app/sbom.cdx.json.
"""

import json
import re
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"
NO_NAME = re.compile(r"[-_.]+")


def needed(requirements: list[str]) -> dict[str, tuple[Distribution, list[str]]]:
    """Every distribution that these requirements lead to here: name -> what is installed, and names it needs itself.

    Raises:
        PackageNotFoundError: one is not installed.
    """
    found: dict[str, tuple[Distribution, list[str]]] = {}
    waiting = [Requirement(line) for line in requirements]
    visited: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        current = waiting.pop()
        name, extras = _normal(current.name), frozenset(current.extras)
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        here = distribution(current.name)
        own = [Requirement(line) for line in here.requires or ()]
        own = [each for each in own if _applies(each, extras)]
        before = found[name][1] if name in found else []
        found[name] = (here, sorted({*before, *(_normal(each.name) for each in own)}))
        waiting += own
    return found


def bill(found: dict[str, tuple[Distribution, list[str]]]) -> dict[str, Any]:
    """The document (https://cyclonedx.org/docs/1.6/json/)."""
    references = {name: f"pkg:pypi/{name}@{here.version}" for name, (here, _) in found.items()}
    components = [
        {
            "type": "library",
            "bom-ref": references[name],
            "name": name,
            "version": here.version,
            "purl": references[name],
            "licenses": [{"license": {"name": _license(here)}}],
        }
        for name, (here, _) in sorted(found.items())
    ]
    own = {"type": "application", "bom-ref": "inside-bert", "name": "inside-bert"}
    depends = [
        {"ref": references[name], "dependsOn": [references[each] for each in own]} for name, (_, own) in found.items()
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": "inside-bert", "dependsOn": sorted(references.values())}, *depends],
    }


def required() -> list[str]:
    """The lines of requirements.txt that name a distribution."""
    lines = (line.partition("#")[0].strip() for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}) | {""})


def _license(here: Distribution) -> str:
    license_text = here.metadata.get("License-Expression") or here.metadata.get("License") or ""
    classifiers = [each.rpartition(" :: ")[2] for each in here.metadata.get_all("Classifier", []) if "License" in each]
    first = license_text.strip().splitlines()[0] if license_text.strip() else ""
    return first[:100] or ", ".join(classifiers) or "unknown"


def _normal(name: str) -> str:
    return NO_NAME.sub("-", name).lower()


if __name__ == "__main__":
    json.dump(bill(needed(required())), sys.stdout, indent=1)
    sys.stdout.write("\n")
