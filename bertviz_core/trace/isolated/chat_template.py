"""Render a chat template in a child process: it is a program of the checkpoint, in transformers' sandbox."""

from functools import lru_cache
from typing import Any

import msgspec

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.run import Limits, run_limited
from bertviz_core.lazy_imports import leave_out_torch
from bertviz_core.text import first_line

TASK = "bertviz_core.trace.isolated.chat_template.answered"
RENDERED_NBYTES = 1024**2
"""Maximum size of a rendered chat."""


class Rendering(msgspec.Struct, frozen=True):
    """A template with its messages and further variables."""

    template: str
    messages: list[dict[str, Any]]
    variables: dict[str, Any]


def answered(request: bytes) -> bytes:
    """The entry point of a child process: the rendered text for a packed Rendering."""
    leave_out_torch()
    from transformers.utils.chat_template_utils import render_jinja_template

    rendering = msgspec.msgpack.decode(request, type=Rendering)
    try:
        (text,), _ = render_jinja_template(
            [rendering.messages], chat_template=rendering.template, **rendering.variables
        )
    except Exception as error:  # a template may lead to any exception
        raise CheckpointError(first_line(error).rstrip(".")) from error
    return str(text).encode("utf-8", "replace")


@lru_cache(maxsize=64)
def rendered(request: bytes, limits: Limits) -> str:
    """The text of a packed Rendering."""
    return run_limited(TASK, request, limits).decode()
