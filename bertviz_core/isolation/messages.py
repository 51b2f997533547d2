"""What is said to a child that serves, and what it answers: each its length in eight bytes, and itself."""

import os
import select
import subprocess
from contextlib import suppress
from time import monotonic

from bertviz_core import errors
from bertviz_core.isolation.child import FRAME
from bertviz_core.isolation.run import CHUNK_NBYTES, STEP_S, Limits, Wanted, too_long


def write_frame(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    """Give a child a request; nothing happens where it has ended."""
    with suppress(OSError, ValueError):  # a child that has ended needs no more of it
        if child.stdin:
            child.stdin.write(len(request).to_bytes(FRAME, "big") + request)
            child.stdin.flush()


def read_frame(child: "subprocess.Popen[bytes]", limits: Limits, wanted: Wanted) -> tuple[bytes, int | None]:
    """One answer, and the exit status of a child that ended before it was whole; None for one that goes on.

    Raises:
        ChildTimeoutError: it takes too long by the clock.
        SupersededError: the answer is no longer wanted.
    """
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
        if not wanted():
            raise errors.SupersededError
        if monotonic() > until:
            raise too_long(limits)
        if len(answer) > FRAME + limits.answer_nbytes + 1:
            break
    return bytes(answer[FRAME:]), None
