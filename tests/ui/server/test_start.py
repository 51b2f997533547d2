"""Checks before the server starts: folders, the list of models, memory."""

import re
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from ui.server import start

ROOT = Path(__file__).parents[3]
GIB = 1024**3
SETTINGS = replace(Settings.from_environment(), allow_hub=False, allowed_models=(), lessons_dir=None)


def test_folders_that_cannot_be_read_stop_the_server(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.touch()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for wrong in (file, file / "below", loop, tmp_path / ("x" * 5_000)):
        for changed in ({"models_dir": wrong}, {"lessons_dir": wrong}, {"corpora_dir": wrong}):
            with pytest.raises(BertvizError, match=r"_DIR is set to .*; name a folder that can be read\.$") as refused:
                start.check_places(replace(SETTINGS, **changed))
            assert len(str(refused.value)) < 300
    with pytest.raises(BertvizError, match="INSIDE_BERT_LESSONS_DIR"):
        start.check_places(replace(SETTINGS, lessons_dir=tmp_path / "absent"))
    start.check_places(
        replace(SETTINGS, models_dir=tmp_path / "absent", corpora_dir=tmp_path / "absent", lessons_dir=tmp_path)
    )


@pytest.mark.parametrize("names", [("nothing-here",), ("../../etc",), ("a\nb", "x" * 5_000), ("/",), ("é" * 300,)])
def test_a_list_that_leaves_nothing_to_open_stops_the_server(names: tuple[str, ...], tmp_path: Path) -> None:
    settings = replace(SETTINGS, models_dir=tmp_path, allowed_models=names)
    with pytest.raises(BertvizError, match="INSIDE_BERT_ALLOWED_MODELS leaves nothing to open") as refused:
        start.check_models(settings)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_list_without_the_bundled_model_serves(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text('{"model_type": "bert"}')
    for names in ((), ("mine",), ("nothing-here", "bert-base-uncased"), ("all-MiniLM-L6-v2",)):
        start.check_models(replace(SETTINGS, models_dir=tmp_path, allowed_models=names))
    start.check_models(replace(SETTINGS, allow_hub=True, allowed_models=("someone/a-model",)))


def test_a_device_that_is_not_there_stops_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BertvizError, match=r"^INSIDE_BERT_DEVICE is set to 'cuda', which is not there: [^\n]*\.$"):
        start.device_notice(replace(SETTINGS, device="cuda"))


@pytest.mark.slow
@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_no_device_is_looked_for_where_none_is_named(device: str) -> None:
    """The import of torch would delay the server; a separate process shows that it is not imported."""
    lines = f"""
import sys
from dataclasses import replace
from bertviz_core.settings import Settings
from ui.server.start import device_notice
assert device_notice(replace(Settings.from_environment(), device={device!r})) == ""
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", lines], cwd=ROOT, check=True, timeout=120)


def test_the_models_limit_is_compared_with_the_memory_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(SETTINGS, device="cuda:1", max_loaded_bytes=6 * GIB, max_model_bytes=2 * GIB)
    monkeypatch.setattr(start, "chosen_device", lambda setting: setting)
    monkeypatch.setattr(start, "device_nbytes", lambda device: 5 * GIB)
    notice = start.device_notice(settings)
    assert notice.startswith("The models may take 6.0 GiB, and cuda:1 has 5.0 GiB: lower INSIDE_BERT_MAX_LOADED_BYTES")
    assert (notice.count("\n"), notice[-1]) == (1, "\n")
    monkeypatch.setattr(start, "device_nbytes", lambda device: 6 * GIB)
    assert start.device_notice(settings) == ""
    assert "models" not in start.memory_parts(settings)
    assert start.memory_parts(replace(settings, device="cpu"))["models"] == 6 * GIB


def test_limits_that_fit_are_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_resident", lambda: {"this machine": 1024 * GIB, "its control group": 512 * GIB})
    assert start.memory_notice(SETTINGS) == ""


def test_limits_beyond_the_memory_are_told_in_one_line_with_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_resident", lambda: {"this machine": 64 * GIB, "its control group": 4 * GIB})
    limits = {"max_loaded_bytes": 2, "max_model_bytes": 1, "max_trace_bytes": 1, "max_cache_bytes": 1, "child_bytes": 1}
    settings = replace(SETTINGS, max_children=2, **{name: count * GIB for name, count in limits.items()})
    notice = start.memory_notice(settings)
    # 2 + 1 + 1 + 2 * 1 by the limits, 0.6 for the program and 1 for the run: docs/deployment.md, "Memory".
    assert "add up to 7.6 GiB" in notice
    assert "its control group has 4.0 GiB" in notice
    assert notice.count("\n") == 1
    assert notice.endswith("\n")


def test_processes_of_strangers_models_count_where_there_may_be_some(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    settings = replace(SETTINGS, isolate_models=True, max_children=3, allow_hub=False, models_dir=tmp_path)
    # 3 that try and 5 that tokenize, at 400 and 100 MiB: docs/deployment.md, "Memory".
    assert start.memory_parts(settings)["processes of strangers' models"] == 1700 * 1024**2
    for without in ({"isolate_models": False}, {"models_dir": tmp_path / "absent"}):
        assert "processes of strangers' models" not in start.memory_parts(replace(settings, **without))
    assert "processes of strangers' models" in start.memory_parts(
        replace(settings, models_dir=tmp_path / "absent", allow_hub=True)
    )


def test_vectors_kept_on_a_tmpfs_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/sdb /tmp/disk xfs rw 0 0\n\n")
    monkeypatch.setattr(start, "MOUNTS", mounts)
    for folder, counts in (("/tmp/a", True), ("/tmp", True), ("/tmp/disk/a", False), ("/tmpx", False), ("/a", False)):
        parts = start.memory_parts(replace(SETTINGS, vector_store_dir=Path(folder)))
        assert (SETTINGS.max_store_bytes in [parts.get("vectors, kept in memory")]) is counts, folder


@pytest.mark.parametrize(
    ("file", "memory", "in_memory"),
    [("compose.yaml", 7, True), ("deploy/kubernetes.yaml", 5, False), ("deploy/inside-bert.service", 7, False)],
)
def test_the_shipped_limits_fit_into_the_shipped_containers(
    file: str, memory: int, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    message = {
        "compose.yaml": f"INSIDE_BERT_MEMORY:-{memory}g",
        "deploy/kubernetes.yaml": f"memory: {memory}Gi}}",
        "deploy/inside-bert.service": f"MemoryMax={memory}G",
    }
    assert message[file] in text
    limits = dict(re.findall(r"(INSIDE_BERT_(?:MAX|CHILD)_\w+)\W[^\n]*?(\d{1,18})\W*$", text, re.MULTILINE))
    assert len(limits) == 7
    for name, value in limits.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(start, "_is_memory", lambda folder: in_memory)
    monkeypatch.setattr(start, "_resident", lambda: {"its control group": memory * GIB})
    assert start.memory_notice(Settings.from_environment()) == ""


def test_less_memory_than_the_first_page_needs_stops_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_resident", lambda: {"its control group": 256 * 1024**2})
    with pytest.raises(BertvizError, match="at least; its control group allows 0.2 GiB"):
        start.memory_notice(SETTINGS)


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.skipif(sys.platform != "linux", reason="limits of processes are Linux's")
def test_an_address_space_too_small_stops_the_server(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {getattr(resource, limit): (3 * GIB // 2, resource.RLIM_INFINITY)}
    endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: found.get(which, endless))
    with pytest.raises(BertvizError, match="the limit is 1.5 GiB"):
        start.memory_notice(SETTINGS)


def test_the_smallest_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "memory.max").write_text(f"{GIB}\n")
    (inner / "memory.max").write_text("max\n")
    (tmp_path / "memory.max").write_text(f"{2 * GIB}\n")
    groups = tmp_path / "groups"
    groups.write_text("0::/a/b\n")
    monkeypatch.setattr(start, "CGROUPS", tmp_path)
    monkeypatch.setattr(start, "OWN_GROUPS", groups)
    assert start._resident()["its control group"] == GIB
    groups.write_text("0::/\n")
    assert start._resident()["its control group"] == 2 * GIB
    older = tmp_path / "memory" / "c"
    older.mkdir(parents=True)
    (older / "memory.limit_in_bytes").write_text(f"{3 * GIB}\n")
    groups.write_text("3:cpu,cpuacct:/c\n2:memory:/c\n")
    assert start._resident()["its control group"] == 3 * GIB
    groups.unlink()
    assert list(start._resident()) == ["this machine"]


def test_a_wall_that_the_system_has_not_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "missing", lambda: ("Landlock",))
    assert "no wall by Landlock, which this system does not have" in start.walls_notice()
    monkeypatch.setattr(start, "missing", tuple)
    assert start.walls_notice() == ""
