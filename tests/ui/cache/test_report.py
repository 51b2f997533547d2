"""A report opens what its instance may open, and nothing that its text names.

Covers `ui/cache/report.py`, `ui/cache/figures.py`, `ui/widgets/downloads.py`; the report of a view is tried in
tests/pages/test_report_of_view.py, the page in tests/browser/test_report.py.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import probe_bytes
from bertviz_core.questions.models.architecture import layer
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.sections import USUAL, reported_figures
from tests.helpers.tiny_models import save_tiny
from ui.cache import report
from ui.cache.shared_model import SharedModel
from ui.session import settings

MODEL, TEXT = "all-MiniLM-L6-v2", "I love my pet python."


def made(text: str, *figures: str) -> bytes:
    contents = report.ReportContents(MODEL, text, None, not figures, figures, "light")
    _, make = report.report_work(contents, 980, slides=False)
    return make(lambda done, total: None)


@pytest.mark.parametrize("figure", ["models", "changes", "cosines", "corpus-search"])
def test_a_text_that_names_a_folder_of_the_server_opens_nothing(figure: str, tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "secret")
    with pytest.raises(TextError, match=f"There is no figure '{figure}' for a report"):
        made(str(folder), figure)


def test_figures_are_made_under_the_limits_of_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedModel(MODEL)
    assert shared.settings == settings()
    assert not shared.settings.any_folder  # the command line opens every folder in its arguments

    def refuse(*_: object) -> None:
        raise AssertionError("a tokenizer was opened outside the instance's limits")

    monkeypatch.setattr("bertviz_core.questions.opened.load_tokenizer", refuse)
    monkeypatch.setattr("bertviz_core.questions.opened.load_model", refuse)
    answer = layer(shared, Options((TEXT,)))
    assert answer.result.layer == 0  # drawn with the text's own shapes
    assert answer.texts == (TEXT, None)


def test_what_is_offered_depends_on_the_length_of_the_text() -> None:
    short, long = report.offered(MODEL, TEXT, None), report.offered(MODEL, TEXT * 20, None)
    assert tuple(short) == reported_figures()
    assert set(short) - set(long) == {"surprise", "effects", "word-shares", "word-bars"}
    assert tuple(short)[: len(USUAL)] == USUAL


def test_a_report_that_can_hold_nothing_is_one_sentence() -> None:
    with pytest.raises(BertvizError, match="head"):
        made(TEXT, "classes")


def test_a_probe_is_the_session_s_and_no_file_of_the_server(tmp_path: Path) -> None:
    source = SharedModel(MODEL).source
    weight, bias = np.ones((2, 384), np.float32), np.zeros(2, np.float32)
    probe = Probe(MODEL, source.revision, "mean", 6, ("no", "a@b"), weight, bias, "mine", 4, 0, 0.5, 0.1)
    (tmp_path / "probe.zip").write_bytes(probe_bytes(probe))
    shared = SharedModel(MODEL).with_probe(probe)
    assert shared.probe(f"{probe.digest}@a@b") == (probe, "a@b")
    assert shared.probe(probe.digest) == (probe, "")
    other = replace(probe, bias=bias + 1)
    for contents, argument in (
        (shared, other.digest),
        (SharedModel(MODEL), probe.digest),
        (shared, f"{tmp_path}/probe.zip"),
    ):
        with pytest.raises(TextError, match="The probe has changed"):
            contents.probe(argument)
