# Inside BERT as one image: the dashboard with its bundled model, no CUDA, no browser, not root.
FROM python:3.11-slim-bookworm AS build
# Wheels of torch without CUDA; leave it empty where pip already finds them elsewhere.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /app
COPY requirements.txt constraints.txt ./
RUN python3 -m venv /venv \
    && if [ -n "$TORCH_INDEX" ]; then /venv/bin/pip install --no-cache-dir torch==2.13.0 --index-url "$TORCH_INDEX"; fi \
    && /venv/bin/pip install --no-cache-dir -r requirements.txt

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin insidebert \
    && mkdir -p /models
COPY --from=build /venv /venv
WORKDIR /app
COPY app.py ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY bertviz_core bertviz_core
COPY figures figures
COPY ui ui
COPY pages pages
COPY docs/glossary.md docs/glossary.md
ENV PATH=/venv/bin:$PATH \
    INSIDE_BERT_STORE_DIR=/tmp/inside-bert \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    HF_HUB_DISABLE_TELEMETRY=1 \
    HF_HOME=/tmp/huggingface \
    INSIDE_BERT_ALLOW_HUB=0 \
    INSIDE_BERT_MODELS_DIR=/models
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=2)"]
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
