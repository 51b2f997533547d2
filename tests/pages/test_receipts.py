"""What decides numbers and is not followed stands once on every page of the model."""

from pathlib import Path

import pytest

from tests.helpers.tiny_heads import save_tiny_head
from tests.models.test_receipts import LIBRARY, OWN_MODEL, modules, write
from tests.pages.opened import opened

PAGES = ("overview", "parameters", "architecture", "checkpoint", "tokens", "attention", "representations", "heads")
MORE_PAGES = ("sentences", "predictions", "journey", "words", "causes")


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("page", [*PAGES, *MORE_PAGES])
def test_a_page_says_once_what_is_not_followed(page: str, models_dir: Path) -> None:
    folder = save_tiny_head("bert", "masked-lm", models_dir / "own")
    parts = modules(("custom_st.Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
    write(folder, {**OWN_MODEL, **parts, "sparse_linear.pt": "pickle"})
    at = opened(page, model="own", text="the river bank")
    blocks = (*at.warning, *at.caption, *at.info, *at.success, *at.error, *at.markdown)
    shown = [block.value.replace("\\", "") for block in blocks]
    for word in ("modeling_own.OwnModel", "custom_st.Transformer", "sparse_linear.pt"):
        assert sum(word in text for text in shown) == 1, word
