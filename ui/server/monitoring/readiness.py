"""Answer whether this server can serve a reader now: `/ready`, for a probe or a load balancer.

Unlike `/_stcore/health`, which says that the process answers, it opens the bundled model, writes a temporary file and
looks for free memory.
"""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import monotonic

from starlette.responses import JSONResponse

from bertviz_core.checkpoints.values import open_checkpoint
from bertviz_core.errors import BertvizError
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from ui.server.index_page import App, Message, Receive, Send

PATH = "/ready"
VALID_S = 5.0
"""Seconds for which an answer is repeated, so that frequent requests cost nothing."""
LEAST_FREE_BYTES = 128 * 1024**2
"""Least free memory of a server that takes readers."""
WRITTEN_BYTES = 4096
MEMORY, OWN_GROUPS, CGROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
OK = "ok"


class Readiness:
    """ASGI middleware that answers `/ready` under any host name, as `/_stcore/health` does.

    The status is 200 if all checks pass and 503 otherwise; the body is a JSON object with the result of each check.

    Args:
        app: the wrapped application.
        settings: the settings of the server.
        base_path: path of the server's addresses.
    """

    def __init__(self, app: App, settings: Settings, base_path: str = "") -> None:
        self.app, self.settings = app, settings
        self.path = f"/{base_path.strip('/')}".rstrip("/") + PATH

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"] != self.path or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        checks = await asyncio.to_thread(recent_checks, self.settings)
        ready = is_ready(checks)
        headers = {"cache-control": "no-store"}
        response = JSONResponse({"ready": ready, "checks": checks}, 200 if ready else 503, headers)
        await response(scope, receive, send)


def is_ready(checks: dict[str, str]) -> bool:
    """Whether all checks passed."""
    return all(result == OK for result in checks.values())


def recent_checks(settings: Settings) -> dict[str, str]:
    """The results of `check_all`, at most five seconds old."""
    with _lock:
        at, checks = _latest.get(settings, (-VALID_S, {}))
        if monotonic() - at >= VALID_S or not checks:
            checks = check_all(settings)
            _latest.clear()
            _latest[settings] = monotonic(), checks
        return checks


def check_all(settings: Settings) -> dict[str, str]:
    """Name of a check -> "ok", or why it failed: the bundled model, temporary files and memory."""
    free = free_nbytes()
    return {
        "model": _check_model(settings),
        "temporary_files": _check_temporary_files(),
        "memory": OK if free is None or free >= LEAST_FREE_BYTES else "less than 128 MiB are free",
    }


def free_nbytes() -> int | None:
    """Free memory in bytes: the least of the machine and the control groups (version 2) of this process.

    Memory that caches files, and would be given back, counts as free. None where the system does not say.
    """
    free = [1024 * int(line.split()[1]) for line in _lines(MEMORY) if line.startswith("MemAvailable:")]
    for line in _lines(OWN_GROUPS):
        if not line.startswith("0::"):
            continue
        inside = CGROUPS / line.removeprefix("0::").strip("/")
        for group in (inside, *inside.parents):
            limit, used = "".join(_lines(group / "memory.max")), "".join(_lines(group / "memory.current"))
            if limit.isdigit() and used.isdigit():
                stat = dict(line.split() for line in _lines(group / "memory.stat"))
                free.append(int(limit) - int(used) + int(stat.get("inactive_file", 0)))
            if group == CGROUPS:
                break
    return min(free, default=None)


def _check_model(settings: Settings) -> str:
    """Resolve the bundled model and read the header of its weights."""
    try:
        unlimited = replace(settings, allowed_models=(), allow_hub=False)
        open_checkpoint(resolve(DEFAULT_MODEL, unlimited), unlimited)
    except (BertvizError, OSError):
        return "the bundled model cannot be opened"
    return OK


def _check_temporary_files() -> str:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(WRITTEN_BYTES))
            file.flush()
    except OSError:
        return "no file can be written to the folder for temporary files"
    return OK


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []


_latest: dict[Settings, tuple[float, dict[str, str]]] = {}
_lock = Lock()
