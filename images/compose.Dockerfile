# The services of compose.yaml: the tool itself, and TensorBoard. Not what trains: that is
# images/Dockerfile, which the tool builds and finds by content.

# The base of images/lock.toml.
ARG BASE=docker.io/library/python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE} AS tool
COPY requirements.lock /
RUN python3 -m venv /opt/tool \
 && /opt/tool/bin/pip install --disable-pip-version-check --no-cache-dir --require-hashes \
        --only-binary :all: --requirement /requirements.lock
ENV PATH=/opt/tool/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

FROM ${BASE} AS tensorboard
COPY images/tensorboard/requirements.lock images/tensorboard/serve.py /
RUN python3 -m venv /opt/tensorboard \
 && /opt/tensorboard/bin/pip install --disable-pip-version-check --no-cache-dir --require-hashes \
        --only-binary :all: --requirement /requirements.lock
ENV PATH=/opt/tensorboard/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER 65532:65532
