"""The upload limit of the server agrees with the proxy and the documents."""

import re
import tomllib
from pathlib import Path

from ui.widgets.uploads import LONGEST_NAME, short_name

ROOT = Path(__file__).parents[4]


def test_the_proxy_takes_what_the_server_takes_and_the_document_says_so() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    most = config["server"]["maxUploadSize"]
    proxy = re.search(r"client_max_body_size (\d+)m;", (ROOT / "deploy" / "nginx.conf").read_text())
    assert proxy is not None
    assert int(proxy[1]) == most + 1, "a request is larger than its file"
    documentation = " ".join((ROOT / "docs" / "deployment.md").read_text().split())
    assert f"Uploads end at {most} MB (`.streamlit/config.toml`; {most + 1} MB in `deploy/nginx.conf`" in documentation


def test_a_long_name_is_cut_and_keeps_its_ending() -> None:
    assert short_name("list.csv") == "list.csv"
    assert len(short_name("x" * 10_000 + ".csv")) == LONGEST_NAME
    assert short_name("x" * 10_000 + ".csv").endswith(".csv")
    assert short_name("\ud800.csv") == "?.csv"
