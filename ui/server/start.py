"""Start the server: its first page, preloaded models."""

import base64
import contextlib
import gc
import hashlib
import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError
from bertviz_core.isolation.config_trials import warm_trials
from bertviz_core.isolation.walls import missing
from bertviz_core.lazy_imports import import_libraries
from bertviz_core.models.loading import AUTO, chosen_device, device_kind, device_nbytes
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import HUB_NAME, resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted
from bertviz_core.trace.isolated.tokenizer import warm_tokenizers
from ui.session import HAS_TAB_TEXTS, TEXT_STORE, WINDOW_WIDTH, first_page_sent

COLLECT_EVERY_S = 30.0
"""Seconds between two collections of garbage."""


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the background work, which ends with the server; the health check does not wait for it."""
    ended = threading.Event()
    threading.Thread(target=_import_and_collect, args=(ended,), name="preload", daemon=True).start()
    yield {}
    ended.set()


def _import_and_collect(ended: threading.Event) -> None:
    """Import the libraries that run models; then collect garbage periodically until the server ends.

    The import starts when the first page has been sent, since it would slow that page down. Streamlit would collect
    garbage after every click (`runner.postScriptGC`, off in .streamlit/config.toml), and traverse all objects of torch
    and transformers each time. Objects that exist after the import are frozen instead, so that no collection visits
    them again.
    """
    first_page_sent.wait()
    import_libraries()
    # The config of the bundled model, which is available even where visitors may not open that model.
    settings = replace(Settings.from_environment(), allowed_models=())
    build_skeleton(DEFAULT_MODEL, resolve(DEFAULT_MODEL, settings).config)
    gc.collect()
    gc.freeze()
    if allows_strangers(settings):
        warm_tokenizers(settings)
        warm_trials(settings)
    if settings.compute_ahead:
        threading.Thread(target=_compute_ahead, args=(ended, settings), name="ahead", daemon=True).start()
    while not ended.wait(COLLECT_EVERY_S):
        gc.collect()


def _compute_ahead(ended: threading.Event, settings: Settings) -> None:
    from ui.server.ahead import compute_ahead  # the start of the server does not wait for its imports
    from ui.server.monitoring import notify

    notify(compute_ahead(ended), settings, logging.INFO)


def allows_strangers(settings: Settings) -> bool:
    """Whether untrusted models, which are read in isolated processes, can be opened."""
    if settings.allow_hub:
        return True
    with contextlib.suppress(OSError):
        return any(each.is_dir() for each in settings.models_dir.iterdir())
    return False


if sys.platform != "win32":
    import resource

GIB = 1024**3
BASE_BYTES, RUN_BYTES = 640 * 1024**2, GIB
"""Measured: Python with torch, transformers and every page; estimated: the current run (docs/deployment.md)."""
TRIAL_BYTES, TOKENIZER_BYTES = 400 * 1024**2, 100 * 1024**2
"""Measured: a process that builds untrusted models, and one with their tokenizer; both are reused."""
TOKENIZERS_BESIDE = 2
"""Tokenizer processes beyond those that read at the same time (docs/deployment.md, "Memory")."""
LEAST_BYTES = 512 * 1024**2
"""Least resident memory for the first pages."""
LEAST_ADDRESS_BYTES, LEAST_DATA_BYTES = 4 * GIB, 5 * GIB // 2
"""Least address space and data for the bundled model, measured plus a fifth; most is never touched."""
CGROUPS, OWN_GROUPS, MOUNTS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/self/mounts")


def check_places(settings: Settings) -> None:
    """Refuse folders in the settings that cannot be read."""
    _check_folder("INSIDE_BERT_MODELS_DIR", settings.models_dir, may_be_absent=True)
    _check_folder("INSIDE_BERT_CORPORA_DIR", settings.corpora_dir, may_be_absent=True)
    if settings.lessons_dir is not None:
        _check_folder("INSIDE_BERT_LESSONS_DIR", settings.lessons_dir, may_be_absent=False)


def check_models(settings: Settings) -> None:
    """Refuse a list of allowed models of which none can be opened here."""
    if settings.allowed_models and not any(_is_known(name, settings) for name in settings.allowed_models):
        hub = "" if settings.allow_hub else ", and the Hub is switched off (INSIDE_BERT_ALLOW_HUB)"
        names = ", ".join(quoted(name, 40) for name in settings.allowed_models[:3])
        raise BertvizError(
            f"INSIDE_BERT_ALLOWED_MODELS leaves nothing to open: {names} is not the bundled model, no folder of "
            f"{quoted(str(settings.models_dir), 80)} and not in the catalogue{hub}."
        )


def device_notice(settings: Settings) -> str:
    """Return a warning if the limit for models exceeds the memory of the GPU in the settings; "" otherwise.

    Only a device set by name is checked here: detecting one needs the import of torch, which otherwise runs in the
    background of the first page.
    """
    if settings.device in (AUTO, "cpu"):
        return ""
    device = chosen_device(settings.device)
    has, models = device_nbytes(device), _models_nbytes(settings)
    if has is None or models <= has:
        return ""
    return (
        f"The models may take {_gib(models)}, and {device} has {_gib(has)}: lower INSIDE_BERT_MAX_LOADED_BYTES and "
        "INSIDE_BERT_MAX_MODEL_BYTES, which count there, or a further model may find no room.\n"
    )


def memory_notice(settings: Settings) -> str:
    """Return a warning if the limits add up to more memory than this machine has; "" otherwise."""
    if sys.platform == "win32":
        return ""  # Windows reports its limits in another way
    place, has = min(((name, nbytes) for name, nbytes in _resident().items()), key=lambda each: each[1])
    if has < LEAST_BYTES:
        raise BertvizError(f"Inside BERT needs {_gib(LEAST_BYTES)} of memory at least; {place} allows {_gib(has)}.")
    for name, limit, least in (
        ("address space (ulimit -v)", resource.RLIMIT_AS, LEAST_ADDRESS_BYTES),
        ("data (ulimit -d)", resource.RLIMIT_DATA, LEAST_DATA_BYTES),
    ):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and most < least:
            raise BertvizError(
                f"Inside BERT needs {_gib(least)} of {name} at least, most of which it never touches; "
                f"the limit is {_gib(most)}. Limit its resident memory instead, such as with a container's."
            )
    parts = memory_parts(settings)
    needs = sum(parts.values())
    if needs <= has:
        return ""
    listed = ", ".join(f"{name} {_gib(nbytes)}" for name, nbytes in parts.items())
    return (
        f"The limits add up to {_gib(needs)} of memory ({listed}), and {place} has {_gib(has)}: lower "
        "INSIDE_BERT_MAX_... (docs/deployment.md, Memory), or a full instance may be ended by the system.\n"
    )


def walls_notice() -> str:
    """Return a warning about isolation that this system lacks; "" for none."""
    names = missing()
    if not names:
        return ""
    return (
        f"The processes that read strangers' files have limits, and no wall by {' or '.join(names)}, which this system "
        "does not have: docs/deployment.md (Configuration) says what they can reach.\n"
    )


def memory_parts(settings: Settings) -> dict[str, int]:
    """Consumer of memory -> its most bytes."""
    return {
        "the program": BASE_BYTES,
        **({} if device_kind(settings.device) == "cuda" else {"models": _models_nbytes(settings)}),
        "runs kept": settings.max_trace_bytes,
        "results": settings.max_cache_bytes,
        "reading of uploads": settings.child_bytes * settings.max_children,
        **({"processes of strangers' models": isolated} if (isolated := _isolated_nbytes(settings)) else {}),
        "the current run": RUN_BYTES,
        **({"vectors, kept in memory": settings.max_store_bytes} if _is_memory(settings.vector_store_dir) else {}),
    }


def _models_nbytes(settings: Settings) -> int:
    """Most bytes of all models on their device; one model may always be loaded."""
    return max(settings.max_loaded_bytes, settings.max_model_bytes)


def _isolated_nbytes(settings: Settings) -> int:
    """Usual bytes of the processes for untrusted models and their tokenizers."""
    if not (settings.isolate_models and allows_strangers(settings)):
        return 0
    return settings.max_children * TRIAL_BYTES + (settings.max_children + TOKENIZERS_BESIDE) * TOKENIZER_BYTES


def _is_memory(folder: Path) -> bool:
    """Whether a folder is in memory: its innermost mount is a tmpfs."""
    mounts = [line.split()[1:3] for line in _read(MOUNTS).splitlines() if len(line.split()) > 2]
    holding = [(len(point), kind) for point, kind in mounts if folder.absolute().is_relative_to(point)]
    return max(holding, default=(0, ""))[1] == "tmpfs"


def _check_folder(name: str, folder: Path, may_be_absent: bool) -> None:
    try:
        folder.stat()
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            return
        why = "may not be read" if folder.is_dir() else "is no folder"
    except FileNotFoundError:
        if may_be_absent:
            return
        why = "is not there"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    raise BertvizError(f"{name} is set to {quoted(str(folder), 80)}, which {why}; name a folder that can be read.")


def _is_known(name: str, settings: Settings) -> bool:
    """Whether a name may be a model, without a request to the Hub."""
    try:
        resolve(name, replace(settings, allow_hub=False))
    except (ModelNotFoundError, HubError, OSError, RuntimeError):  # such as a name too long, or a link to itself
        return settings.allow_hub and HUB_NAME.fullmatch(name) is not None
    except CheckpointError:
        return True  # its page shows the error
    return True


def _resident() -> dict[str, int]:
    """Limit of resident memory -> its bytes: the machine, and every control group of this process."""
    limits = {"this machine": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}
    for line in _read(OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        file = "memory.limit_in_bytes" if controllers else "memory.max"
        inside = root / path.lstrip("/")
        for group in (inside, *inside.parents):
            limit = _read(group / file)
            if limit.isdigit():
                limits["its control group"] = min(int(limit), limits.get("its control group", int(limit)))
            if group == root:
                break
    return limits


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _gib(nbytes: int) -> str:
    return f"{nbytes / GIB:.1f} GiB"


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
POLICY = (
    "default-src 'self'; script-src 'self' blob:{scripts}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'{sockets} data: blob:; worker-src 'self' blob:; "
    "frame-ancestors {ancestors}; base-uri 'self'; form-action 'self'; object-src 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
HOST = re.compile(rb"[\w.:\[\]-]+", re.ASCII)
FRAME = Path(__file__).with_name("frame.css").read_text(encoding="utf-8")
BADGE = Path(__file__).with_name("badge.svg")
STALE = (b"content-length", b"etag", b"last-modified")


async def badge(_request: Request) -> FileResponse:
    """The badge that a model card shows as its link to the dashboard."""
    return FileResponse(BADGE, media_type="image/svg+xml", headers={"cache-control": "public, max-age=86400"})


class IndexPage:
    """ASGI middleware that adds security headers to every response, and rewrites the page itself."""

    def __init__(
        self, app: App, base_path: str = "", frame_ancestors: Sequence[str] = ("'self'",), modules: Sequence[str] = ()
    ) -> None:
        """Modules of JavaScript, whose list may grow, are fetched with the page, before it asks for them."""
        self.app, self.ancestors, self.modules = app, " ".join(frame_ancestors), modules
        base = f"/{base_path.strip('/')}".rstrip("/")
        script = f'<script>window.__streamlit = {{BACKEND_BASE_URL: location.origin + "{base}"}}</script>'
        self.head, self.base = f"<head>{script}<style>{FRAME}</style>".encode(), base
        scope = f'"; path={base or "/"}; SameSite=Lax"'
        script = f'document.cookie = "{WINDOW_WIDTH}=" + Math.min(innerWidth, screen.width) + {scope};'
        # A frame on another site may have no storage at all; reading it then throws.
        script += (
            f'try {{ document.cookie = "{HAS_TAB_TEXTS}=" + Number((sessionStorage.getItem("{TEXT_STORE}") ?? "{{}}")'
        )
        script += f' !== "{{}}") + {scope} }} catch {{}}'
        self.end = f"<script>{script}</script></head>".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()
        sockets = _sockets(scope)

        async def rewriting(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if is_page(message):
                    start = message
                    return
                message["headers"] = [*message["headers"], *HEADERS, self._policy(sockets)]
            elif start:
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                page = self._rewritten(bytes(body))
                fresh = [pair for pair in start["headers"] if pair[0].lower() not in STALE]
                # The response to HEAD has no body, so its length is unknown.
                length = [(b"content-length", str(len(page)).encode())] if page else []
                policy = self._policy(sockets, INLINE_SCRIPT.findall(page))
                await send({**start, "headers": [*fresh, *HEADERS, policy, *length]})
                message = {"type": "http.response.body", "body": page}
            await send(message)

        await self.app(_uncompressed(scope), receive, rewriting)

    def _rewritten(self, page: bytes) -> bytes:
        links = "".join(f'<link rel="modulepreload" href="{self.base}/{module}">' for module in self.modules)
        page = page.replace(b"<head>", self.head + links.encode(), 1).replace(b"</head>", self.end, 1)
        return page.replace(b"<title>Streamlit<", b"<title>Inside BERT<")

    def _policy(self, sockets: str, scripts: Sequence[bytes] = ()) -> tuple[bytes, bytes]:
        hashes = "".join(
            f" 'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts
        )
        policy = POLICY.format(scripts=hashes, sockets=sockets, ancestors=self.ancestors)
        return b"content-security-policy", policy.encode()


def _sockets(scope: Message) -> str:
    """WebSocket sources for the policy: the host of the request, since in some browsers 'self' excludes sockets."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
        return ""
    return f" ws://{hosts[0].decode()} wss://{hosts[0].decode()}"


def _uncompressed(scope: Message) -> Message:
    """Request a page without compression, since it is rewritten."""
    headers = dict(scope["headers"])
    if b"text/html" not in headers.get(b"accept", b""):
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


def is_page(message: Message) -> bool:
    """Whether a response is an HTML page, by its start message."""
    return message["status"] == 200 and any(
        name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in message["headers"]
    )
