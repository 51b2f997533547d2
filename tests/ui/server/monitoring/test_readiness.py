"""Readiness: each check fails for its own reason, and the answer has a status that a probe understands."""

import asyncio
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.settings import Settings
from ui.server import monitoring
from ui.server.monitoring import Readiness, check_all, free_nbytes, recent_checks

SETTINGS = Settings.from_environment()
MIB = 1024**2


@pytest.fixture(autouse=True)
def fresh() -> None:
    monitoring._latest.clear()


def answer(path: str, base_path: str = "") -> tuple[int, dict[str, Any]]:
    """Status and body of an answer; 418 from the application behind it."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"10.0.0.7:8501")]}
    with ThreadPoolExecutor(max_workers=1) as pool:  # this thread may have a browser's event loop
        pool.submit(asyncio.run, Readiness(app, SETTINGS, base_path)(scope, receive, send)).result()
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_a_server_that_can_serve_is_ready() -> None:
    assert answer("/ready") == (200, {"ready": True, "checks": dict.fromkeys(check_all(SETTINGS), "ok")})
    assert set(check_all(SETTINGS)) == {"model", "temporary_files", "memory"}


@pytest.mark.parametrize(("path", "base", "status"), [("/", "", 418), ("/x/ready", "/x", 200), ("/ready", "x", 418)])
def test_other_paths_are_the_applications(path: str, base: str, status: int) -> None:
    assert answer(path, base)[0] == status


def test_a_list_of_models_without_the_bundled_one_does_not_matter() -> None:
    assert check_all(replace(SETTINGS, allowed_models=("another",)))["model"] == "ok"


def test_a_damaged_model_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise CheckpointError("The header of /srv/secret/model.safetensors is damaged.")

    monkeypatch.setattr(monitoring, "open_checkpoint", damaged)
    status, body = answer("/ready")
    assert (status, body["ready"]) == (503, False)
    assert body["checks"]["model"] == "the bundled model cannot be opened"
    assert "secret" not in json.dumps(body)


def test_a_folder_that_cannot_be_written_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    status, body = answer("/ready")
    assert status == 503
    assert [name for name, result in body["checks"].items() if result != "ok"] == ["temporary_files"]


def test_the_least_free_memory_of_machine_and_groups_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group's memory that caches files is free: 900 of 1,000 MiB used, of which 300 cache files, leave 400."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {700 * 1024} kB\n")
    (tmp_path / "own").write_text("0::/team/one\n")
    monkeypatch.setattr(monitoring, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(monitoring, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(monitoring, "CGROUPS", tmp_path)
    assert free_nbytes() == 700 * MIB
    inside = tmp_path / "team" / "one"
    inside.mkdir(parents=True)
    for group, limit, used, cached in ((inside, "max", 900, 300), (inside.parent, str(1000 * MIB), 900, 300)):
        (group / "memory.max").write_text(f"{limit}\n")
        (group / "memory.current").write_text(f"{used * MIB}\n")
        (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached * MIB}\n")
    assert free_nbytes() == 400 * MIB
    (inside.parent / "memory.current").write_text(f"{1200 * MIB}\n")
    assert free_nbytes() == 100 * MIB
    assert check_all(SETTINGS)["memory"] == "less than 128 MiB are free"


def test_an_answer_is_repeated_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    monkeypatch.setattr(monitoring, "check_all", lambda _: checked.append(1) or {"model": "ok"})
    for at in (100.0, 104.9, 105.0):
        monkeypatch.setattr(monitoring, "monotonic", lambda at=at: at)
        recent_checks(SETTINGS)
    assert len(checked) == 2
