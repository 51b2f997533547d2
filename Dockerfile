# Inside BERT as one image: the dashboard with its bundled model, no CUDA, no browser by default, not root.
# By its digest, since a tag moves; another one by --build-arg PYTHON_IMAGE=... (docs/deployment.md, "Supply").
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
FROM ${PYTHON_IMAGE} AS build
# Wheels of torch without CUDA; leave it empty where pip already finds them elsewhere.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# What sign-in needs besides (docs/deployment.md): --build-arg SIGN_IN=1.
ARG SIGN_IN=
# What a worker of a Ray cluster needs besides (docs/corpus.md): --build-arg CLUSTER=1.
ARG CLUSTER=
WORKDIR /app
COPY requirements.txt requirements-cluster.txt constraints.txt ./
COPY deploy/requirements-hashed.txt deploy/requirements-sign-in.txt deploy/sbom.py deploy/
# All but torch by its hash: which build of torch is taken is TORCH_INDEX's to say.
RUN python3 -m venv /venv \
    && PIP="/venv/bin/pip install --no-cache-dir --no-deps" \
    && $PIP --require-hashes -r deploy/requirements-hashed.txt \
    && if [ -n "$SIGN_IN" ]; then $PIP --require-hashes -r deploy/requirements-sign-in.txt; fi \
    && if [ -n "$CLUSTER" ]; then $PIP -r requirements-cluster.txt; fi \
    && $PIP torch==2.13.0 ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} \
    && /venv/bin/python deploy/sbom.py >/sbom.cdx.json
# What serves no one here: headers for compilers, packages' own tests, of torch programs as well, what notebooks load,
# storage that nothing here opens (S3, Flight), and pip.
RUN cd /venv/lib/python3*/site-packages \
    && rm -rf torch/include torch/test pyarrow/include pydeck/nbextension plotly/labextension \
        plotly/package_data/widgetbundle.js pip pip-*.dist-info /venv/bin/pip* \
    && rm -f pyarrow/*flight* pyarrow/_s3fs* pyarrow/libarrow_s3* \
    && find torch/bin -mindepth 1 -maxdepth 1 ! -name torch_shm_manager -exec rm -rf {} + \
    && find . -type d -name tests -prune -exec rm -rf {} +

FROM ${PYTHON_IMAGE}
# What draws slides and PDF on the server, Debian's Chromium, with typefaces of the world's scripts (docs/deployment.md):
# --build-arg BROWSER=1.
ARG BROWSER=
RUN if [ -n "$BROWSER" ]; then \
        apt-get update \
        && apt-get install -y --no-install-recommends chromium fonts-noto-core fonts-noto-cjk \
        && rm -rf /var/lib/apt/lists/*; \
    fi
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin insidebert \
    && mkdir -p /models /corpora
COPY --from=build /venv /venv
WORKDIR /app
COPY --from=build /sbom.cdx.json ./
COPY app.py deploy/healthcheck.py ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY bertviz_core bertviz_core
COPY ui ui
COPY pages pages
COPY docs/glossary.md docs/glossary.md
# Compiled here, since the running container cannot write; never compared with the sources, which cannot change either.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /app
ENV PATH=/venv/bin:$PATH \
    INSIDE_BERT_VECTOR_STORE_DIR=/tmp/inside-bert \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    HF_HUB_DISABLE_TELEMETRY=1 \
    HF_HOME=/tmp/huggingface \
    INSIDE_BERT_ALLOW_HUB=0 \
    INSIDE_BERT_MODELS_DIR=/models \
    INSIDE_BERT_CORPORA_DIR=/corpora \
    STREAMLIT_BROWSER_GATHER_USAGE_STATS=false \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501
USER 10001
EXPOSE 8501
# Turns ok when a first page has been drawn (docs/deployment.md).
HEALTHCHECK --interval=10s --timeout=30s --start-period=60s --retries=3 CMD ["python3", "healthcheck.py"]
CMD ["streamlit", "run", "app.py"]
