"""How far work on a list is, in words.

Covers `ui/widgets/lists/progress.py`.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from ui.widgets.lists.progress import progress_words


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"state": "waiting"}, "Waiting for another list to be finished."),
        ({"done": 0, "seconds_left": None}, "0 of 20,000 rows"),
        ({"done": 900, "rate": 300.0, "seconds_left": 63.7}, "900 of 20,000 rows, 300 per second, about 64 s left"),
        ({"done": 19_999, "rate": 4.25, "seconds_left": 0.2}, "19,999 of 20,000 rows, 4.2 per second, less than a"),
    ],
)
def test_a_rate_is_told_once_there_is_one(facts: dict[str, Any], words: str) -> None:
    job: Any = SimpleNamespace(**{"state": "running", "done": 0, "total": 20_000, "rate": 0.0, **facts})
    assert progress_words(job, "rows").startswith(words)
