"""The log of a running server: JSON lines with model, view, seconds and outcome, and never a text of a reader."""

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect
from websockets.typing import Origin, Subprotocol

from bertviz_core.settings import DEFAULT_MODEL, Settings
from ui.server import monitoring as log
from ui.server.monitoring import JsonRecord, notify

ROOT = Path(__file__).parents[4]
TEXT = "zebrafinch quokkas juggle"
"""A text of words that occur nowhere else."""
WORDS = re.compile("zebra|finch|quokka|juggle", re.IGNORECASE)
UP_S, DRAWN_S = 60, 120


@dataclass
class Instance:
    """A running server."""

    port: int
    metrics: int
    log: Path
    open_metrics: str = ""
    """The metrics while a page was open."""

    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects of its log, without the lines for a person that Streamlit prints at the start."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def get(self, path: str, port: int | None = None) -> tuple[int, str]:
        """Status and body of an answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port or self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    async def visit(self, page: str, **query: str) -> str:
        """Open a page as a browser does, and leave when it is drawn; returns the metrics while it is open."""
        ask = BackMsg()
        ask.rerun_script.page_name, ask.rerun_script.query_string = page, urlencode(query)
        address, origin = f"127.0.0.1:{self.port}", Origin(f"http://127.0.0.1:{self.port}")
        session = connect(
            f"ws://{address}/_stcore/stream", subprotocols=[Subprotocol("streamlit")], origin=origin, max_size=None
        )
        async with asyncio.timeout(DRAWN_S), session as tab:
            await tab.send(ask.SerializeToString())
            async for data in tab:
                message = ForwardMsg.FromString(data)
                early = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
                if message.WhichOneof("type") == "script_finished" and not early:
                    return (await asyncio.to_thread(self.get, "/metrics", self.metrics))[1]
        raise AssertionError("the page was not drawn")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def in_a_thread(coroutine: Any) -> Any:
    """Run a coroutine where no other loop runs, such as that of a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A server with a JSON log and metrics, after visits with a text, an error and an unknown model."""
    home = tmp_path_factory.mktemp("home")
    running = Instance(free_port(), free_port(), home / "log")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("INSIDE_BERT_", "STREAMLIT_"))}
    chosen = {"LOG_FORMAT": "json", "METRICS_PORT": str(running.metrics), "ALLOW_HUB": "0"}
    environment = {**clean, "HOME": str(home), **{f"INSIDE_BERT_{name}": value for name, value in chosen.items()}}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(running.port)]
    with open(running.log, "wb") as out:
        server = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"], cwd=ROOT, env=environment, stdout=out, stderr=out
        )
        try:
            pause = threading.Event()
            for _ in range(UP_S * 10):
                try:
                    if running.get("/_stcore/health")[0] == 200:
                        break
                except OSError:
                    pause.wait(0.1)
            in_a_thread(running.visit("attention", text=TEXT, view="zebra view"))
            running.get(f"/attention?{urlencode({'text': TEXT})}")
            running.open_metrics = in_a_thread(running.visit("words", text=TEXT, pair="quokka"))
            in_a_thread(running.visit("attention", text=TEXT, model="no-such-quokka"))
            yield running
        finally:
            server.terminate()
            server.wait(20)


def of_event(instance: Instance, event: str) -> list[dict[str, Any]]:
    return [line for line in instance.lines() if line.get("event") == event]


@pytest.mark.slow
def test_a_page_is_a_line_with_model_view_seconds_and_outcome(instance: Instance) -> None:
    first = next(line for line in of_event(instance, "page") if line["name"] == "attention")
    assert first["model"] == DEFAULT_MODEL
    assert first["outcome"] == "done"
    assert 0 < first["seconds"] < DRAWN_S
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert (first["level"], first["logger"]) == ("info", "inside_bert.activity")
    second = next(line for line in of_event(instance, "page") if line["name"] == "words")
    assert second["view"] == "Words"


@pytest.mark.slow
def test_a_run_and_an_answer_are_lines_of_their_own(instance: Instance) -> None:
    runs = of_event(instance, "run")
    assert {line["model"] for line in runs} == {DEFAULT_MODEL}
    assert min(line["tokens"] for line in runs) >= 5  # [CLS], three words or more pieces, [SEP]
    questions = of_event(instance, "question")
    assert {line["model"] for line in questions} == {DEFAULT_MODEL}
    assert all(line["outcome"] in ("done", "refused", "stopped") for line in questions)


def test_no_line_has_a_text_of_a_reader(instance: Instance) -> None:
    """Not the text, nor its pair, nor a model or a view that a reader has typed."""
    written = instance.log.read_text()
    assert len(instance.lines()) >= 5
    assert WORDS.findall(written) == []
    assert not re.search(r'"(text|token|pair)":', written)


def test_a_model_that_is_not_there_is_refused_and_its_name_left_out(instance: Instance) -> None:
    last = of_event(instance, "page")[-1]
    assert (last["outcome"], last["error"], last["model"]) == ("refused", "ModelNotFoundError", "")


def test_the_metrics_count_what_the_log_has(instance: Instance) -> None:
    status, body = instance.get("/metrics", instance.metrics)
    assert status == 200
    assert WORDS.findall(body) == []
    pages = [line for line in of_event(instance, "page") if (line["name"], line["outcome"]) == ("attention", "done")]
    name = 'inside_bert_page_duration_seconds_count{outcome="done",page="attention"}'
    assert f"{name} {len(pages)}.0\n" in body
    loaded = re.search(r'inside_bert_cache_bytes\{cache="models"\} (\S+)\n', body)
    assert loaded is not None
    assert float(loaded[1]) > 22_713_216 * 4 - 1  # the parameters of the model in 32-bit numbers
    assert instance.get("/", instance.metrics)[0] == 404
    assert "inside_bert_sessions 1.0\n" in instance.open_metrics


def test_the_server_is_ready_and_says_so_under_any_name(instance: Instance) -> None:
    status, body = instance.get("/ready")
    assert status == 200
    assert json.loads(body) == {"ready": True, "checks": {"model": "ok", "temporary_files": "ok", "memory": "ok"}}


def test_an_exception_is_logged_without_its_message() -> None:
    try:
        raise ValueError(TEXT)
    except ValueError as error:
        record = JsonRecord(
            "a", logging.ERROR, __file__, 1, "failed %s", ("here",), (ValueError, error, error.__traceback__)
        )
    line = json.loads(logging.Formatter("%(message)s").format(record))
    assert (line["message"], line["error"], line["level"]) == ("failed here", "ValueError", "error")
    assert "test_log.py" in line["at"][0]
    assert WORDS.search(json.dumps(line)) is None


def test_a_notice_of_the_start_is_a_line_as_text_and_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notify("Much memory.\n", Settings.from_environment())
    assert capsys.readouterr().err == "Much memory.\n"
    recorded: list[tuple[int, str]] = []
    monkeypatch.setattr(log.LOG, "log", lambda level, form, *args: recorded.append((level, form % args)))
    monkeypatch.setenv("INSIDE_BERT_LOG_FORMAT", "json")
    for notice in ("Much memory.\n", ""):
        notify(notice, Settings.from_environment())
    notify("Computed.\n", Settings.from_environment(), logging.INFO)
    assert recorded == [(logging.WARNING, "Much memory."), (logging.INFO, "Computed.")]
