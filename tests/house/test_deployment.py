"""The files of deploy/ agree with the program: ports, paths of probes, variables, folders and commands."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from bertviz_core.settings import ROWS
from ui.server import monitoring

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "inside-bert.service"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
VARIABLES = {variable for variable, _ in ROWS.values()}
ELSEWHERE = re.compile(r"STREAMLIT_[A-Z]+_[A-Z_]+|OMP_NUM_THREADS|HOME|XDG_CACHE_HOME|PYTHON[A-Z]+|HF_[A-Z_]+")
"""Variables of other programs."""
Object = dict[str, Any]


def objects() -> list[Object]:
    return list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")))


def of_kind(kind: str, name: str = "inside-bert") -> Object:
    (found,) = [each for each in objects() if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def pod() -> Object:
    template: Object = of_kind("Deployment")["spec"]["template"]
    return template


def container() -> Object:
    (only,) = pod()["spec"]["containers"]
    return dict(only)


def values() -> dict[str, str]:
    """Variables of the container with a value of their own."""
    return {each["name"]: each["value"] for each in container()["env"] if "value" in each}


def unit() -> dict[str, list[str]]:
    """Directives of the unit -> their values."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def unit_values() -> dict[str, str]:
    return dict(each.split("=", 1) for each in unit()["Environment"])


def unknown(names: set[str]) -> set[str]:
    """Variables that nothing reads."""
    return {name for name in names - VARIABLES if not ELSEWHERE.fullmatch(name)}


def test_every_variable_is_one_of_the_program_and_can_be_read() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    in_compose = set().union(*(each.get("environment", {}) for each in compose.values()))
    for names in (set(values()), set(unit_values()), in_compose):
        assert len(names) > 8
        assert unknown(names) == set()
    assert unknown({"INSIDE_BERT_METRIC_PORT", "HOME"}) == {"INSIDE_BERT_METRIC_PORT"}
    rows = dict(ROWS.values())
    for name, value in {**unit_values(), **values()}.items():
        if name in rows:
            rows[name].kind.parse(value)


def test_the_ports_are_those_that_the_image_listens_on() -> None:
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert f"STREAMLIT_SERVER_PORT={ports['http']}" in DOCKERFILE
    assert values()["INSIDE_BERT_METRICS_PORT"] == str(ports["metrics"])
    annotations = pod()["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["metrics"])
    assert annotations["prometheus.io/path"] == monitoring.PATH
    (served,) = of_kind("Service")["spec"]["ports"]
    assert served["targetPort"] == "http", "no Service leads to the metrics"
    policy = of_kind("NetworkPolicy")["spec"]["ingress"]
    assert {port["port"] for rule in policy for port in rule["ports"]} == set(ports)
    assert [rule for rule in policy if {"port": "metrics"} in rule["ports"] and not rule.get("from")] == []


def test_the_probes_ask_what_the_program_answers() -> None:
    probes = container()
    assert probes["readinessProbe"]["httpGet"] == {"path": monitoring.READINESS_PATH, "port": "http"}
    assert probes["livenessProbe"]["httpGet"] == {"path": "/_stcore/health", "port": "http"}
    command, script = probes["startupProbe"]["exec"]["command"]
    assert f'CMD ["{command}", "{script}"]' in DOCKERFILE
    assert (ROOT / "deploy" / script).exists()
    # A process is not restarted for being busy before it is taken out of service.
    assert probes["livenessProbe"]["failureThreshold"] * probes["livenessProbe"]["periodSeconds"] > 60


def test_a_pod_runs_as_the_images_user_on_a_root_that_cannot_be_written() -> None:
    user = pod()["spec"]["securityContext"]
    assert user["runAsNonRoot"] is True
    assert f"USER {user['runAsUser']}\n" in DOCKERFILE
    limits = container()["securityContext"]
    assert limits["readOnlyRootFilesystem"] is True
    assert limits["allowPrivilegeEscalation"] is False
    assert limits["capabilities"] == {"drop": ["ALL"]}
    resources = container()["resources"]
    assert set(resources["limits"]) == set(resources["requests"]) == {"cpu", "memory"}


def test_the_volumes_are_the_folders_of_the_image() -> None:
    mounts = {each["name"]: each for each in container()["volumeMounts"]}
    assert set(mounts) == {each["name"] for each in pod()["spec"]["volumes"]}
    assert [name for name, each in mounts.items() if not each.get("readOnly")] == ["tmp"]
    assert f"INSIDE_BERT_MODELS_DIR={mounts['models']['mountPath']} " in DOCKERFILE
    assert f"INSIDE_BERT_CORPORA_DIR={mounts['corpora']['mountPath']} " in DOCKERFILE
    assert f"INSIDE_BERT_VECTOR_STORE_DIR={mounts['tmp']['mountPath']}/" in DOCKERFILE


def test_the_image_has_a_browser_only_where_it_is_asked_for() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    commands = re.split(r"\n(?=[A-Z]+ )", final.replace("\\\n", ""))
    (installs,) = [each for each in commands if "apt-get install" in each]
    assert "ARG BROWSER=" in [line for each in commands for line in each.splitlines()], "empty by default"
    assert re.match(r'RUN if \[ -n "\$BROWSER" \]; then .*--no-install-recommends chromium .*; *fi$', installs)
    assert commands.index(installs) < commands.index("USER 10001"), "as root"
    assert DOCKERFILE.count("apt-get install") == 1
    assert "--build-arg BROWSER=1" in (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


def test_each_reader_stays_with_one_pod() -> None:
    annotations = of_kind("Service")["metadata"]["annotations"]
    assert annotations["traefik.ingress.kubernetes.io/service.sticky.cookie"] == "true"
    labels = pod()["metadata"]["labels"].items()
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert of_kind(kind)["spec"]["selector"]["matchLabels"].items() <= labels
    assert of_kind("Service")["spec"]["selector"].items() <= labels
    for kind, name in (("Ingress", "inside-bert"), ("Ingress", "inside-bert-metrics")):
        (rule,) = of_kind(kind, name)["spec"]["rules"]
        assert rule["host"] == values()["INSIDE_BERT_ALLOWED_HOSTS"]


def test_the_unit_starts_the_program_that_make_installs() -> None:
    (command,), (folder,) = unit()["ExecStart"], unit()["WorkingDirectory"]
    program, *arguments = command.split()
    assert program == f"{folder}/.venv/bin/streamlit"
    assert (Path(sys.executable).parent / "streamlit").exists()
    assert arguments[:2] == ["run", "app.py"]
    assert (ROOT / "app.py").exists()
    assert arguments[2:] == ["--server.address", "127.0.0.1", "--server.port", "8501"]
    cache = f"/var/cache/{unit()['CacheDirectory'][0]}"
    assert unit_values()["HOME"] == unit_values()["XDG_CACHE_HOME"] == cache


def test_the_space_has_what_its_image_copies_and_the_image_s_pins() -> None:
    """Beside the Dockerfile lie a wheel, made from here, and a file of deploy/ (docs/deployment.md, "A Space")."""
    space = (ROOT / "deploy" / "space" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    copied = set(re.findall(r"^COPY (.+) \./$", space, re.MULTILINE)[0].split()) - {"inside_bert-*.whl"}
    assert copied == {"requirements-hashed.txt"}
    assert all((ROOT / "deploy" / name).exists() for name in copied)
    pins = re.compile(r"(?:python:|torch==)[\w.:@+-]+|--index-url \S+|--require-hashes")
    image = DOCKERFILE.replace('"$TORCH_INDEX"', *re.findall(r"^ARG TORCH_INDEX=(.+)$", DOCKERFILE, re.MULTILINE))
    assert set(pins.findall(space)) == {each.rstrip("}") for each in pins.findall(image)}
    (block,) = re.findall(r"^ENV (.+)$", space, re.MULTILINE)
    settings = dict(each.split("=", 1) for each in shlex.split(block))
    assert unknown({*settings, *re.findall(r"INSIDE_BERT_\w+", space)}) == set()
    rows = dict(ROWS.values())
    read = {name: rows[name].kind.parse(value) for name, value in settings.items() if name in rows and value}
    assert len(read) > 8
    assert read["INSIDE_BERT_ALLOW_HUB"]
    matter, words = (ROOT / "deploy" / "space" / "README.md").read_text(encoding="utf-8").split("---\n")[1:]
    front = yaml.safe_load(matter)
    assert (front["sdk"], front["license"]) == ("docker", "apache-2.0")
    assert f"EXPOSE {front['app_port']}\n" in space
    assert f"--port {front['app_port']} " in space
    assert len(front["short_description"]) <= 60, "the Hub takes no longer one"
    for limit in ("MAX_TOKENS", "MAX_SENTENCES"):
        assert f"{read[f'INSIDE_BERT_{limit}']:,} " in words
    assert f"{read['INSIDE_BERT_MAX_MODEL_BYTES'] // 1024**3} GiB" in words
