"""Code of the page on words that matter runs as it is and gives the page's numbers."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import opened
from tests.pages.test_words import folded
from ui.session import SECOND_TEXT
from ui.widgets import run_model as answers


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("shares", {"view": "Words"}),
        ("shares", {"method": "integrated gradients", "units": "tokens"}),
        ("curves", {"view": "Remove word by word"}),
        ("pairs", {"view": "Pairs"}),
        ("classes", {"view": "Classes", "model": "three", "classes_by": "probability"}),
        ("classes", {"view": "Classes", "model": "tags", "target_at": "3"}),
        ("shares", {"model": "tags"}),
    ],
)
@pytest.mark.sample(1)
def test_the_code_of_each_view_gives_its_numbers(
    key: str, address: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    save_tiny_head("bert", "sequence-classification", tmp_path / "three", num_labels=3)
    save_tiny_head("bert", "token-classification", tmp_path / "tags", num_labels=5)
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    at = opened(
        "words",
        **({} if "model" in address else {"pair": SECOND_TEXT}),
        **address,
        **{f"words_{key}_explained": "true", f"words_{key}_table": "true"},
    )
    assert not at.exception
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        exec(at.code[0].value, names)
    frame = folded(at, f"words_{key}")
    if key == "shares":
        np.testing.assert_allclose(names["result"].shares, frame["share"], atol=1e-6)
    elif key == "curves":
        np.testing.assert_allclose(names["result"].curves[1].alone, frame["integrated gradients, alone"], atol=1e-5)
        np.testing.assert_allclose(names["result"].random.mean(axis=0), frame["random, without, mean"], atol=1e-5)
    elif key == "classes":
        np.testing.assert_allclose(names["result"].shares, frame[frame.columns[2:]], atol=1e-6)
    else:
        np.testing.assert_allclose(names["result"].shares.ravel(), frame["share"], atol=1e-6)
