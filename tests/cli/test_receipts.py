"""What decides numbers and is not followed is said by commands, in the library and in reports, once."""

import json
from pathlib import Path

import pytest

from bertviz_core import open_model
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.sections import report_of
from bertviz_core.settings import Settings
from tests.cli.conftest import Command
from tests.helpers.tiny_models import save_tiny
from tests.models.test_receipts import OWN_MODEL, write


@pytest.mark.slow
def test_commands_library_and_reports_say_it(tmp_path: Path, command: Command) -> None:
    write(save_tiny("bert", tmp_path / "tiny"), OWN_MODEL)
    name, text = str(tmp_path / "tiny"), "river bank"
    opened = OpenedModel(name, Settings.from_environment(any_folder=True))
    (sentence,) = opened.source.notices
    for arguments in (
        ["parameters", name],
        ["load-report", name],
        ["tokens", name, text],
        ["hidden", name, text, "--layer", "1"],
        ["attention", name, text, "--layer", "1", "--head", "0"],
        ["heads", name, "--layer", "1"],
        ["similarity", name, text, "my love"],
        ["number-formats", name],
        ["compare", name, name],
    ):
        done = command(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stderr)
        assert done.stderr.count(sentence) == 1, arguments
        found = json.loads(done.stdout)
        assert "notices" not in found or found["notices"].count(sentence) == 1, arguments
    model = open_model(name)
    results = [model.parameters(), model.architecture(), model.load_report(), model.heads(1), model.tokens(text)]
    results += [model.trace(text), model.sentences([text]), model.journey(text)]
    assert [result.notices.count(sentence) for result in results] == [1] * len(results)
    assert all(repr(result).count(sentence) == 1 for result in results[:5])
    assert report_of(opened, Options((text,)), ("components",), theme_named("light")).notices.count(sentence) == 1
