"""Charts of a page, as they are sent to the browser."""

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from streamlit.testing.v1 import AppTest


class Chart(NamedTuple):
    """A chart: its key, the figure as JSON, what the browser is told of it, and the layer that it draws of several."""

    key: str
    spec: str
    header: dict[str, Any]
    layer: int
    cells: bytes

    @property
    def figure(self) -> dict[str, Any]:
        """The figure as the browser draws it, with typed arrays decoded to lists."""
        figure: dict[str, Any] = decoded_arrays(json.loads(self.spec))
        ahead = self.header["ahead"]
        if ahead and "figure" in ahead["layers"][self.layer]:
            return decoded_arrays(json.loads(ahead["layers"][self.layer]["figure"]))
        if ahead:
            shown, (heatmap, *numbers) = ahead["layers"][self.layer], figure["data"]
            cells = np.frombuffer(self.cells, np.float32 if ahead["exact"] else np.int16)
            heatmap["z"] = cells.reshape(-1, ahead["rows"], ahead["columns"])[self.layer].tolist()
            heatmap["zmin"], heatmap["zmax"] = shown["ends"]
            heatmap["colorbar"] |= {name: shown[name] for name in ("tickvals", "ticktext")}
            for trace in numbers:
                trace["text"], trace["textfont"]["color"] = shown["text"], shown["colours"]
            figure["layout"]["title"]["text"] = shown["title"]
        return figure


def sent_charts(at: AppTest) -> list[Chart]:
    """All charts of a page, in order."""
    sent = [each.proto.bytes for each in at.get("bidi_component") if each.proto.component_name == "chart"]
    return [_chart(at, message) for message in sent]


def _chart(at: AppTest, message: bytes) -> Chart:
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    end = start + header["nbytes"]
    named = header["ahead"]["control"] if header["ahead"] else None
    control = next((each for each in (*at.select_slider, *at.segmented_control) if each.key == named), None)
    layer = control.options.index(control.value) if control else 0
    return Chart(header["chart"], message[start:end].decode(), header, layer, message[end:])


def decoded_arrays(value: Any) -> Any:
    """The value with plotly's typed arrays as lists."""
    if isinstance(value, dict) and "bdata" in value:
        array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
        return array.reshape([int(size) for size in str(value.get("shape", array.size)).split(",")]).tolist()
    if isinstance(value, dict):
        return {name: decoded_arrays(each) for name, each in value.items()}
    return [decoded_arrays(each) for each in value] if isinstance(value, list) else value
