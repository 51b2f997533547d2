"""Requests to and answers of a serving child, preceded by their length in eight bytes."""

import os
import select
import subprocess
from contextlib import suppress
from time import monotonic

from bertviz_core import errors
from bertviz_core.isolation.child import FRAME
from bertviz_core.isolation.run import CHUNK_NBYTES, STEP_S, IsNeeded, Limits, too_long


def write_frame(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    """Send a request to a child; no effect if it has ended."""
    with suppress(OSError, ValueError):  # the child has ended
        if child.stdin:
            child.stdin.write(len(request).to_bytes(FRAME, "big") + request)
            child.stdin.flush()


def read_frame(child: "subprocess.Popen[bytes]", limits: Limits, is_needed: IsNeeded) -> tuple[bytes, int | None]:
    """Read an answer; the second value is the exit status if the child ended before it was complete, otherwise None."""
    output = child.stdout.fileno() if child.stdout else -1
    poll = select.poll()
    poll.register(output, select.POLLIN | select.POLLHUP)
    answer, until = bytearray(), monotonic() + limits.wall_s
    while len(answer) < FRAME or len(answer) < FRAME + int.from_bytes(answer[:FRAME], "big"):
        if poll.poll(STEP_S * 1000):
            chunk = os.read(output, CHUNK_NBYTES)
            if not chunk:
                return bytes(answer[FRAME:]), child.wait()
            answer += chunk
        if not is_needed():
            raise errors.SupersededError
        if monotonic() > until:
            raise too_long(limits)
        if len(answer) > FRAME + limits.answer_nbytes + 1:
            break
    return bytes(answer[FRAME:]), None
