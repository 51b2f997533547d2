"""Write the server's log as JSON, one object a line, without texts of readers.

Records of computations come from `ui.cache.memoize.logged`. A record of anything else has its message, and of an
exception only the class and the lines of code, since its message may quote a text.
"""

import json
import logging
import re
import sys
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from bertviz_core.errors import BertvizError
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from ui.cache.memoize import ACTIVITY
from ui.server.streamlit_internals import log_bare_messages
from ui.session import settings, stored

LOG = logging.getLogger("inside_bert")
QUERY = re.compile(r"\?[^\s\"']*=[^\s\"']*")
"""What follows the question mark of an address; a shared link may carry a text."""
DEEPEST = 8
"""Lines of code that are logged of a traceback, the innermost."""


class JsonRecord(logging.LogRecord):
    """A record whose message is a JSON object: time in UTC, level, logger, and the fields or the message."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a record; used by `logging`."""
        super().__init__(*args, **kwargs)
        self.raised, self.exc_info = self.exc_info, None  # a formatter would append the traceback with its message

    def getMessage(self) -> str:  # noqa: N802  # the name that logging calls
        """The line of the log."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(self.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": self.levelname.lower(),
            "logger": self.name,
        }
        fields = getattr(self, "fields", None)
        line |= fields if fields is not None else {"message": QUERY.sub("", super().getMessage())}
        if self.raised and self.raised[1] is not None:
            line |= {"error": type(self.raised[1]).__name__, "at": _lines_of_code(self.raised[2])}
        return json.dumps(line, ensure_ascii=True, default=str)


def start_log(chosen: Settings) -> None:
    """Write all further records as JSON to standard error, if the settings ask for it; otherwise change nothing."""
    if chosen.log_format != "json":
        return
    logging.setLogRecordFactory(JsonRecord)
    log_bare_messages()
    handler = logging.StreamHandler(sys.stderr)
    for logger in (ACTIVITY, LOG):
        logger.addHandler(handler)
        logger.propagate = False
    ACTIVITY.setLevel(logging.INFO)


def notify(notice: str, chosen: Settings) -> None:
    """Write a warning of the server's start to its log; "" writes nothing."""
    if chosen.log_format == "json":
        if notice:
            LOG.warning("%s", notice.strip())
    else:
        sys.stderr.write(notice)


def model_fact() -> dict[str, object]:
    """The reader's model, for the log of a page.

    Names of models on this machine only; a reader may have typed anything else.
    """
    try:
        return {"model": resolve(str(stored("model") or DEFAULT_MODEL), replace(settings(), allow_hub=False)).name}
    except (BertvizError, OSError, ValueError):
        return {"model": ""}


def _lines_of_code(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)[-DEEPEST:]]
