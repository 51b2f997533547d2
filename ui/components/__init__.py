"""Views drawn by code in the browser."""

import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def file_text(beside: str, name: str) -> str:
    """The text of a file of a component, which is beside its module."""
    return Path(beside).with_name(name).read_text(encoding="utf-8")


def packed(header: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> bytes:
    """A message for the browser: u32 length of the header, JSON header, then raw arrays."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    return b"".join([struct.pack("<I", len(text)), text, *(np.ascontiguousarray(each).tobytes() for each in arrays)])
