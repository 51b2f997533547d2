"""Commands, figures, settings, names of addresses and of Python that version 1.0 had are there, and mean the same.

Covers docs/compatibility.md.
"""

import json
from itertools import takewhile
from typing import Any

import pytest

from bertviz_core.settings import Settings
from tests.compatibility.promised import FIRST, address_names, commands, figures, python_names, settings


def kept(name: str) -> Any:
    return json.loads((FIRST / f"{name}.json").read_text(encoding="utf-8"))


def test_every_command_has_its_arguments_and_options() -> None:
    now = commands()
    for name, before in kept("commands").items():
        assert now[name]["arguments"] == before["arguments"], name
        assert now[name]["options"] | before["options"] == now[name]["options"], name


def test_every_figure_has_its_settings() -> None:
    now = figures()
    gone = {name: set(before) - set(now.get(name, ())) for name, before in kept("figures").items() if name in now}
    assert {name: some for name, some in gone.items() if some} == {}
    assert set(kept("figures")) <= set(now)


def test_every_setting_has_its_default() -> None:
    now = settings()
    assert {name: now.get(name) for name in kept("settings")} == kept("settings")


@pytest.mark.parametrize(("written", "switched"), [("1", True), ("yes", True), ("off", False), ("FALSE", False)])
def test_a_switch_is_written_as_before(written: str, switched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", written)
    assert Settings.from_environment().allow_hub is switched


def lost_parameters(before: list[str] | None, now: list[str] | None) -> bool:
    """Whether a call that was right before is not any more."""
    if before is None or now is None:
        return before is not None and now is None
    named, places = {each.rstrip("=") for each in now}, [each.rstrip("=") for each in before if "*" not in each]
    by_place = [each.rstrip("=") for each in takewhile(lambda each: not each.startswith("*"), before)]
    new = [each for each in now if each.rstrip("=") not in places and "=" not in each and "*" not in each]
    return bool(
        [each for each in places if each not in named]
        or by_place != [each.rstrip("=") for each in now][: len(by_place)]
        or [each for each in before if each.endswith("=") and each not in now]
        or new
    )


def test_every_name_of_python_and_its_parameters_are_there() -> None:
    now, lost = python_names(), []
    for name, before in kept("python").items():
        if not isinstance(before, dict):
            lost += [name] if name not in now or lost_parameters(before, now[name]) else []
            continue
        members = now.get(name, {})
        lost += [
            f"{name}.{each}" for each in before if each not in members or lost_parameters(before[each], members[each])
        ]
    assert lost == []


def test_a_lost_parameter_is_seen() -> None:
    before = ["texts", "*", "layer=", "pooling"]
    assert not lost_parameters(before, ["texts=", "other=", "*", "layer=", "pooling=", "new="])
    assert lost_parameters(before, ["texts", "*", "layer=", "pooled"])
    assert lost_parameters(before, ["other=", "texts", "*", "layer=", "pooling"])
    assert lost_parameters(before, ["texts", "*", "layer", "pooling"])
    assert lost_parameters(before, ["texts", "new", "*", "layer=", "pooling"])
    assert lost_parameters(["a"], None)


def test_every_name_of_an_address_has_its_pages_and_values() -> None:
    now = {(page, row["name"]): row for row in address_names() for page in row["pages"] or ["all"]}
    for row in kept("address-names"):
        for page in row["pages"] or ["all"]:
            today = now[page, row["name"]]
            assert not today["values"] or set(row["values"]) <= set(today["values"]), (page, row["name"])
