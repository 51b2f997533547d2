"""Random damage to valid files and values; reproducible from the state of the generator."""

import json
from copy import deepcopy
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 7, 2**31, 2**63, 2**64, 10**30, 10**3000, 0.5, -0.0, 1e308),
    *(float("inf"), float("-inf"), float("nan"), "", "x", "0", "9" * 5_000, "a\0b", "\u202ecba", "é" * 300),
    *(
        "../../etc/passwd",
        "/dev/zero",
        "{{7*7}}",
        "(a+)+$",
        "=1+1",
        "<b>",
        "x" * 20_000,
        [],
        {},
        [[]],
        [None],
        {"": {}},
    ),
)
"""Values that replace others."""
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"{",
        b"[",
        b"]",
        b"}",
    ),
    *(
        b":",
        b"- ",
        b"&a ",
        b"*a",
        b"!!int ",
        b"<<: ",
        b"0x",
        b"1e999",
        b"\\ud800",
        b"\\u0000",
        b"NaN",
        b"-",
        b"9" * 400,
    ),
    *("\u202e".encode(), "١".encode(), b"PAR1", b"null", b"a" * 3_000),
)
"""Bytes that are inserted into a file."""
RUNS = (b"a", b" ", b"9", b".", b"[", b"(", b"-", b"\\", b"\n", b"#", b"a@", b"a.", b"a:", b"//", b"\xc3\xa9", b"&amp;")
"""Pieces that are repeated many times, to detect parsers with superlinear time."""
RUN_NBYTES = (5_000, 50_000, 200_000)
MOST_CHANGES, MOST_DEPTH, LONG_SHARE = 4, 40, 0.03


def changed_json(rng: Random, value: Any) -> Any:
    """A copy of JSON data with one to four places changed, removed, doubled or nested."""
    copy = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, MOST_CHANGES)):
        holder, key = _place(rng, copy)
        if key is None:
            continue
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(("", "extra", str(key) * 200, f"{key}\0"))] = holder[key]
        elif kind == 2:
            for _ in range(rng.randint(1, MOST_DEPTH)):
                holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
        elif kind == 3 and isinstance(holder[key], list) and len(holder[key]) < 1_000:
            holder[key] = holder[key] * rng.choice((2, 50))
        elif rng.random() < LONG_SHARE:
            holder[key] = repeated(rng, rng.choice(RUNS)).decode()
        else:
            holder[key] = deepcopy(rng.choice(VALUES))
    return copy


def changed_bytes(rng: Random, raw: bytes) -> bytes:
    """A copy of bytes with one to four places overwritten, removed, doubled or added."""
    content = bytearray(raw)
    for _ in range(rng.randint(1, MOST_CHANGES)):
        place = rng.randrange(len(content) + 1)
        end = min(len(content), place + rng.choice((1, 1, 4, 30, 400)))
        kind = rng.randrange(5)
        if kind == 0:
            content[place:end] = rng.randbytes(end - place)
        elif kind == 1:
            del content[place:end]
        elif kind == 2:
            content[place:place] = content[place:end] * rng.choice((1, 3, 100))
        elif rng.random() < LONG_SHARE:
            content[place:place] = repeated(rng, rng.choice(RUNS))
        elif kind == 3:
            content[place:end] = rng.choice(PIECES)
        else:
            content[place:place] = rng.choice(PIECES)
    return bytes(content[: rng.randrange(len(content) + 1)] if rng.random() < 0.05 else content)


def repeated(rng: Random, piece: bytes) -> bytes:
    """A piece, repeated to five thousand to two hundred thousand bytes."""
    return piece * (rng.choice(RUN_NBYTES) // len(piece))


def _place(rng: Random, value: Any) -> tuple[Any, Any]:
    """A list or mapping inside a value, and one of its keys; no key if it is empty."""
    holder = value
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return holder, None
        key = rng.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.7:
            holder = holder[key]
        else:
            return holder, key
