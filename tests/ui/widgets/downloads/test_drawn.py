"""A file that is drawn in the background: progress with Stop, the button that saves it, the sentence if it fails."""

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.errors import BertvizError, Progress
from ui.cache.jobs import Job, board

WAIT_S = 20
CONTENT = b"x" * 2048
KEYS = "a file", "another file"


class Drawing:
    """Work that goes on when it is told to."""

    def __init__(self) -> None:
        self.begun, self.go, self.runs = Event(), Event(), 0
        self.fault: Exception | None = None

    def __call__(self, progress: Progress) -> bytes:
        self.runs += 1
        progress(1, 4)
        self.begun.set()
        assert self.go.wait(WAIT_S)
        progress(2, 4)
        if self.fault is not None:
            raise self.fault
        return CONTENT


drawings: dict[str, Drawing] = {}


def page() -> None:
    import streamlit as st

    from tests.ui.widgets.downloads.test_drawn import KEYS, drawings
    from ui.widgets.downloads import DrawnFile, show_drawing, start_drawing

    for place, key in enumerate(KEYS):
        file = DrawnFile(f"file_{place}", key, f"{key}.pdf", "application/pdf", "Save it", "pictures")
        if not show_drawing(file) and st.button("Draw it", key=f"file_{place}_make"):
            start_drawing(file, 4, drawings[key])
            st.rerun()


@pytest.fixture(autouse=True)
def _drawings() -> Iterator[None]:
    drawings.update({key: Drawing() for key in KEYS})
    yield
    for key in KEYS:
        drawings[key].go.set()
        job: Job[Any] | None = board().find(key)
        assert job is None or job.wait(WAIT_S)
        board().forget(key)


def pressed(at: AppTest, place: int = 0) -> Job[bytes]:
    """Press the button of a file; returns its job."""
    at.button(key=f"file_{place}_make").click().run()
    job: Job[bytes] | None = board().find(KEYS[place])
    assert job is not None
    return job


def keys(at: AppTest) -> list[str]:
    """Keys of the buttons, and labels of those that save."""
    return [str(each.key) for each in at.button] + [each.label for each in at.get("download_button")]


def opened() -> AppTest:
    return AppTest.from_function(page).run()


def test_a_press_draws_the_file_once_and_it_is_saved_afterwards() -> None:
    at = opened()
    assert keys(at) == ["file_0_make", "file_1_make"]
    job = pressed(at)
    assert drawings[KEYS[0]].begun.wait(WAIT_S)
    at.run()
    assert keys(at) == ["file_0_stop", "file_1_make"]
    assert at.get("progress")[0].proto.text.startswith("1 of 4 pictures")
    drawings[KEYS[0]].go.set()
    assert job.wait(WAIT_S)
    for reader in (at, opened()):
        assert keys(reader.run()) == ["file_1_make", "Save it"]
        assert reader.get("download_button")[0].proto.help == "The file is made: 2.0 KiB."
    assert job.result == CONTENT
    assert drawings[KEYS[0]].runs == 1


def test_one_is_drawn_at_a_time_and_the_other_waits() -> None:
    at = opened()
    jobs = pressed(at), pressed(at, 1)
    assert drawings[KEYS[0]].begun.wait(WAIT_S)
    at.run()
    assert [job.state for job in jobs] == ["running", "waiting"]
    assert at.get("progress")[1].proto.text == "Waiting for other files to be drawn."
    drawings[KEYS[0]].go.set()
    assert drawings[KEYS[1]].begun.wait(WAIT_S)
    assert jobs[0].state == "done"


def test_a_file_that_was_stopped_can_be_drawn_again() -> None:
    at = opened()
    job = pressed(at)
    assert drawings[KEYS[0]].begun.wait(WAIT_S)
    at.run()
    at.button(key="file_0_stop").click().run()
    drawings[KEYS[0]].go.set()
    assert job.wait(WAIT_S)
    assert job.state == "stopped"
    assert keys(at.run()) == ["file_0_make", "file_1_make"]
    again = pressed(at)
    assert again.wait(WAIT_S)
    assert again.result == CONTENT


def test_a_fault_is_one_sentence_until_the_next_press() -> None:
    at = opened()
    fail(at, BertvizError("There is no *browser*."))
    for _ in range(2):
        at.run()
        assert [each.value for each in at.error] == [r"There is no \*browser\*\."]
        assert keys(at) == ["file_0_make", "file_1_make"]
    drawings[KEYS[0]].fault = None
    assert pressed(at).wait(WAIT_S)
    assert not at.run().error


def test_a_fault_of_the_program_is_not_hidden() -> None:
    at = opened()
    fail(at, ZeroDivisionError("a fault"))
    assert len(at.run().exception) == 1


def fail(at: AppTest, fault: Exception) -> None:
    """Press the first button, and let its work end with a fault, of which the page does not know yet."""
    drawing = drawings[KEYS[0]]
    drawing.fault = fault
    job = pressed(at)
    drawing.go.set()
    assert job.wait(WAIT_S)
