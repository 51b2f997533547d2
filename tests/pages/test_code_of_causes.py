"""Code of the page on heads that matter runs as it stands and gives the page's numbers."""

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import pytest

from bertviz_core.text import decimals
from tests.pages.opened import metrics, opened
from tests.pages.test_causes import HEADS, cells, charts
from ui.views.causes import cache


@pytest.mark.parametrize(("view", "key"), [("Effects", "effects"), ("Several heads", "removal"), ("Patch", "states")])
def test_the_code_of_each_view_gives_its_numbers(view: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE_S", 120.0)
    at = opened("causes", view=view, **{f"causes_{key}_explained": "true"})
    assert not at.exception
    code = at.code[0].value
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        exec(code, names)
    if view == "Effects":
        values = cells(at, "causes_effects")
        np.testing.assert_allclose(names["effects"].heads, values[:, 2 * HEADS + 6 : 3 * HEADS + 6], atol=1e-6)
    elif view == "Patch":
        np.testing.assert_allclose(names["result"].states, cells(at, "causes_states"), atol=1e-5)
    else:
        greedy = next(each for each in charts(at)["causes_removal"]["data"] if each.get("name") == "greedy")
        np.testing.assert_allclose(names["curves"][0].values[0], greedy["y"], atol=1e-5)
        assert metrics(at)["Joint effect"].lstrip("+") == decimals(names["removal"].joint)
