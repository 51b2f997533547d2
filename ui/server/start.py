"""Check the settings before the server starts, so that a mistake is one message and not an error on a page."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError
from bertviz_core.isolation.walls import missing
from bertviz_core.models.hub import HUB_NAME
from bertviz_core.models.loading import AUTO, chosen_device, device_kind, device_nbytes
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from ui.server.preload import allows_strangers

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
    """Refuse folders in the settings that cannot be read.

    Raises:
        BertvizError: names the setting, and what is there instead of a folder.
    """
    _check_folder("INSIDE_BERT_MODELS_DIR", settings.models_dir, may_be_absent=True)
    _check_folder("INSIDE_BERT_CORPORA_DIR", settings.corpora_dir, may_be_absent=True)
    if settings.lessons_dir is not None:
        _check_folder("INSIDE_BERT_LESSONS_DIR", settings.lessons_dir, may_be_absent=False)


def check_models(settings: Settings) -> None:
    """Refuse a list of allowed models of which none can be opened here.

    Raises:
        BertvizError: lists the names, and where they were searched for.
    """
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

    Raises:
        BertvizError: the device does not exist.
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
    """Return a warning if the limits add up to more memory than this machine has; "" otherwise.

    Raises:
        BertvizError: there is less memory than the first pages need.
    """
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
