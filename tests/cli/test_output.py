"""Files are written completely or not at all."""

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from bertviz_core.cli.app import main
from bertviz_core.cli.options import write_file
from bertviz_core.errors import BertvizError


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    for content in (b"first and long", b"second"):
        write_file(out, content)
        assert out.read_bytes() == content
    assert list(tmp_path.iterdir()) == [out]


def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.svg"
    out.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BertvizError, match="No space left on device"):
        write_file(out, b"new and longer")
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_bytes() == b"old"


@pytest.mark.slow
def test_a_full_device_is_one_sentence() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bertviz_core", "parameters", "all-MiniLM-L6-v2"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "INSIDE_BERT_ALLOW_HUB": "0"},
            encoding="utf-8",
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "The output cannot be written (No space left on device).\n")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("encoding", "sign"), [("ascii", "-"), ("utf-8", "−"), ("latin-1", "-")])
def test_a_terminal_that_has_no_minus_gets_a_hyphen(encoding: str, sign: str) -> None:
    reader, terminal = os.openpty()
    code = "from bertviz_core.cli.options import print_lines; print_lines(['−0.5'])"
    subprocess.run(
        [sys.executable, "-c", code], stdout=terminal, env={**os.environ, "PYTHONIOENCODING": encoding}, check=True
    )
    os.close(terminal)
    assert os.read(reader, 100).decode().strip() == f"{sign}0.5"
    os.close(reader)


def test_a_folder_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    out.mkdir()
    with pytest.raises(BertvizError, match="cannot be written"):
        write_file(out, b"new")
    assert list(tmp_path.iterdir()) == [out]


def test_the_parser_prints_no_direction_character(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["parameters", "--x\u202ey\x9bz"],
        ["parameters\u202e"],
        ["--\u2066"],
        ["parameters", "a", "b\u202e"],
    ):
        monkeypatch.setattr(sys, "argv", ["program", *words])
        with pytest.raises(SystemExit):
            main()
        told = capsys.readouterr().err
        assert told
        assert not any(unicodedata.category(each) in ("Cc", "Cf") for each in told.removesuffix("\n"))
