"""Run a built image as Docker would with the settings of compose.yaml, without Docker.

It has its own network (loopback only), processes and mounts, a read-only root file system, no capabilities, and its own
user.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONNECTING = "trace=connect,sendto,sendmsg,sendmmsg"
DEVICES = ("null", "zero", "full", "random", "urandom")
ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")')
WAITED_S = 240


@dataclass(frozen=True)
class Image:
    """A mounted image and its configuration."""

    root: Path
    settings: dict[str, Any]

    @property
    def environment(self) -> list[str]:
        return list(self.settings["Env"])

    @property
    def user(self) -> str:
        return str(self.settings["User"])

    def groups(self) -> str:
        """The group of the image's user, from its own /etc/passwd."""
        for line in (self.root / "etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if fields[2] == self.user:
                return fields[3]
        raise AssertionError(f"The image has no user {self.user}.")


def buildah(work: Path, *words: str) -> str:
    """Run a buildah command, and return its output."""
    command = ["buildah", "--root", str(work / "storage"), "--runroot", str(work / "run"), *words]
    environment = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@contextmanager
def mounted(work: Path, name: str) -> Iterator[Image]:
    """Mount an image as a folder."""
    settings = json.loads(buildah(work, "inspect", "--type", "image", name))["Docker"]["config"]
    container = buildah(work, "from", "--pull=never", name)
    try:
        yield Image(Path(buildah(work, "mount", container)), settings)
    finally:
        buildah(work, "rm", container)


def _as_user(image: Image, extra: dict[str, str], words: list[str]) -> str:
    """Shell commands that enter the root file system and switch to its user, without anything of this machine."""
    variables = [*image.environment, *(f"{name}={value}" for name, value in extra.items())]
    group = image.groups()
    inside = f"cd {shlex.quote(image.settings['WorkingDir'])} && exec {shlex.join(words)}"
    return shlex.join(
        ["chroot", str(image.root), "setpriv", f"--reuid={image.user}", f"--regid={group}", "--clear-groups"]
        + ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "env", "-i", *variables, "sh", "-c", inside]
    )


def _setting_up(image: Image, models: Path) -> str:
    root = shlex.quote(str(image.root))
    devices = "".join(f"touch {root}/dev/{name}; mount --bind /dev/{name} {root}/dev/{name};" for name in DEVICES)
    return (
        f"set -e; ip link set lo up; mount --make-rprivate /; mount --bind {root} {root};"
        f"mount --bind {shlex.quote(str(models))} {root}/models; mount -o remount,bind,ro {root}/models;"
        f"mount -t tmpfs -o nosuid,nodev,noexec,size=1g,mode=1777 tmpfs {root}/tmp;"
        f"mount -t tmpfs -o nosuid,mode=755 tmpfs {root}/dev; {devices}"
        f"mkdir -m 1777 {root}/dev/shm; mount -t tmpfs -o nosuid,nodev,noexec,size=64m tmpfs {root}/dev/shm;"
        f"mount -t proc proc {root}/proc; mount -o remount,bind,ro {root};"
    )


class Container:
    """A running image; its first process has number 1 inside."""

    def __init__(self, image: Image, models: Path, logs: Path, extra: dict[str, str], words: list[str]) -> None:
        self.image, self.extra, self.logs = image, extra, logs
        script = _setting_up(image, models) + "exec " + _as_user(image, extra, words)
        self.started = time.monotonic()
        with open(logs / "container.log", "wb") as log:
            self.outer = subprocess.Popen(
                ["strace", "-f", "-qq", "--seccomp-bpf", "-e", CONNECTING, "-o", str(logs / "calls.log")]
                + ["unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
                + ["sh", "-c", script],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def first(self) -> int:
        """Process id of the container's first process on this machine."""
        found = self.outer.pid
        while _namespace(found) == _namespace("self"):
            tasks = Path(f"/proc/{found}/task").glob("*/children")
            children = [int(each) for task in tasks for each in task.read_text().split()]
            if not children:
                raise AssertionError(f"The container has not started:\n{self.log()}")
            found = children[0]
        return found

    def inside(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program inside, like `docker exec`."""
        enter = ["nsenter", "--target", str(self.first()), "--net", "--mount", "--pid", "--ipc", "--uts"]
        command = [*enter, "sh", "-c", "exec " + _as_user(self.image, self.extra, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=WAITED_S)

    def near(self, words: list[str], **options: Any) -> "subprocess.Popen[str]":
        """Run a program of this machine in the container's network."""
        enter = ["nsenter", "--target", str(self.first()), "--net"]
        return subprocess.Popen([*enter, *words], text=True, stdout=subprocess.PIPE, stdin=subprocess.PIPE, **options)

    def until(self, words: list[str]) -> float:
        """Seconds after the start until a program inside first succeeds."""
        pause = threading.Event()
        while self.seconds() < WAITED_S and self.outer.poll() is None:
            try:
                if self.inside(words).returncode == 0:
                    return self.seconds()
            except (AssertionError, OSError):
                pass  # not started yet
            pause.wait(0.1)
        raise AssertionError(f"Not within {WAITED_S} s: {shlex.join(words)}\n{self.log()}")

    def log(self) -> str:
        """The output of the container."""
        return (self.logs / "container.log").read_text(errors="replace")[-3_000:]

    def stop(self) -> tuple[int, float]:
        """Exit code after SIGTERM, and the seconds until the end."""
        start = time.monotonic()
        os.kill(self.first(), 15)
        return self.outer.wait(60), time.monotonic() - start

    def kill(self) -> None:
        """Kill it unconditionally."""
        if self.outer.poll() is None:
            try:
                os.kill(self.first(), 9)
            except (AssertionError, OSError):
                self.outer.kill()
            self.outer.wait(60)

    def outbound(self) -> list[str]:
        """System calls with an address beyond loopback."""
        return outbound((self.logs / "calls.log").read_text(errors="replace"))


def outbound(calls: str) -> list[str]:
    """Lines of strace with an Internet address beyond loopback."""
    found = []
    for line in calls.splitlines():
        for match in ADDRESS.finditer(line):
            address = match[2] or match[3]
            if not address.startswith("127.") and address not in ("::1", "::ffff:127.0.0.1"):
                found.append(line)
    return found


@contextmanager
def running(
    image: Image, models: Path, logs: Path, extra: dict[str, str] | None = None, words: list[str] | None = None
) -> Iterator[Container]:
    """Run the image's own command, or another."""
    logs.mkdir(parents=True, exist_ok=True)
    container = Container(image, models, logs, extra or {}, words or list(image.settings["Cmd"]))
    try:
        yield container
    finally:
        container.kill()


def _namespace(process: int | str) -> str:
    try:
        return os.readlink(f"/proc/{process}/ns/pid")
    except OSError as error:
        raise AssertionError(f"Process {process} is gone.") from error


if __name__ == "__main__":
    sys.exit("This file is used by check_image.py.")
