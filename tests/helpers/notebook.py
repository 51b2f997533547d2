"""The other side of a widget: what Python sends to the browser of a notebook, and how the browser answers."""

from typing import Any

from comm.base_comm import BaseComm


class Notebook(BaseComm):
    """The connection of a widget, which keeps what the widget sends."""

    def __init__(self, widget: Any) -> None:
        self.updates: list[dict[str, Any]] = []
        super().__init__()
        self.state = dict(widget.get_state())
        widget.comm = self

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        if data and data.get("method") == "update":
            state = dict(data["state"])
            for (name,), content in zip(data["buffer_paths"], buffers or [], strict=True):
                state[name] = bytes(content)
            self.updates.append(state)
            self.state |= state

    def say(self, **content: Any) -> None:
        """Send a message of the browser to Python."""
        self.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
