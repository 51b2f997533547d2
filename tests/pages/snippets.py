"""Run the Python code under "How this is computed": every snippet of a view, for several families."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from bertviz_core.models.catalog import bundled_folder
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny, tiny_config
from tests.helpers.tiny_tokenizers import byte_level, metaspace
from tests.pages.opened import opened

LABEL = "How this is computed"
BUNDLED = "all-MiniLM-L6-v2"
MODELS = (BUNDLED, "bytes", "pieces")
"""BERT with word pieces; GPT-2 with bytes and its tied head; T5 with sentence pieces and its two stacks."""
Printed = list[Any]
Check = Callable[[AppTest, Printed], None]


def save_models(folder: Path) -> Path:
    """Save the models that are not bundled, and a second one of each for comparisons."""
    for name, seed in (("bytes", 1), ("bytes-2", 2)):
        tokenizer = byte_level()
        torch.manual_seed(seed)
        config = tiny_config("gpt2", vocab_size=len(tokenizer), n_positions=160)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    tokenizer = metaspace()
    sizes = {"vocab_size": len(tokenizer), "decoder_start_token_id": 0, "num_decoder_layers": 2}
    save_tiny("t5", folder / "pieces", **sizes)
    tokenizer.save_pretrained(folder / "pieces")
    return folder


def printed(code: str) -> Printed:
    """Values printed by code in its own namespace; the bundled model is read from its folder."""
    values: Printed = []
    here = code.replace(f"sentence-transformers/{BUNDLED}", str(bundled_folder()))
    exec(here, {"print": lambda *each: values.extend(each)})  # noqa: S102  # that it can be run is what is tested
    return [each.detach().numpy() if isinstance(each, torch.Tensor) else each for each in values]


def check_view(page: str, model: str, checks: Mapping[str, Check], **address: Any) -> AppTest:
    """Open a view with all its code, and compare the output of each snippet with the view.

    Args:
        page: name of the page.
        model: name of the model.
        checks: key of a snippet -> function that compares; every snippet of the view has one.
        address: the view and its options.
    """
    folds = {f"{key}_{fold}": "true" for key in checks for fold in ("explained", "table")}
    at = opened(page, model=model, **folds, **address)
    assert not at.exception
    assert not at.error
    found = {
        place.proto.query_param_key.removesuffix("_explained"): place for place in at.expander if place.label == LABEL
    }
    assert found.keys() == checks.keys(), f"{page}, {address.get('view')}: each snippet needs its check"
    for key, place in found.items():
        checks[key](at, printed(place.code[0].value))
    return at


def chart(at: AppTest, key: str) -> list[dict[str, Any]]:
    """The traces of the chart of this key."""
    (found,) = [each for each in sent_charts(at) if each.key == key]
    return list(found.figure["data"])


def folded(at: AppTest, key: str) -> pd.DataFrame:
    """The folded table below the chart of this key."""
    (place,) = [each for each in at.expander if each.proto.query_param_key == f"{key}_table"]
    return place.dataframe[0].value


def by_name(values: Printed, width: int) -> dict[str, Printed]:
    """Output of a loop as name -> numbers."""
    return {values[place]: values[place + 1 : place + width] for place in range(0, len(values), width)}


def close(found: Any, expected: Any, atol: float = 1e-4) -> None:
    """Assert that numbers agree."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), atol=atol, rtol=1e-4)
