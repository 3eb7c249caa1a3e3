# syntax=docker/dockerfile:1
# Two images: `server` (distrivote in front of a model server) and `vllm` (vLLM with the SelfStepConf plugin).
# Untested: this project was developed without Docker. See docs/deploying.md.

FROM python:3.11-slim AS wheel
WORKDIR /src
COPY requirements/build.txt /build.txt
RUN pip install --no-cache-dir --require-hashes -r /build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# The build backend is already installed, so nothing else is downloaded.
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel .

FROM python:3.11-slim AS server
RUN useradd --create-home --uid 10001 distrivote
COPY requirements/run.txt /requirements.txt
RUN pip install --no-cache-dir --require-hashes -r /requirements.txt
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir --no-deps /wheel/distrivote-*.whl && rm -r /wheel
USER distrivote
WORKDIR /home/distrivote
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=2)"]
# A host that others can reach needs DISTRIVOTE_API_KEY; without it the server exits with an error.
ENTRYPOINT ["distrivote", "serve", "--host", "0.0.0.0"]

# The release that the plugin is tested with: docs/vllm.md.
FROM vllm/vllm-openai:v0.32.0 AS vllm
COPY --from=wheel /wheel /wheel
# The image's own packages are unchanged: the plugin needs only NumPy.
RUN python3 -m pip install --no-cache-dir --no-deps /wheel/distrivote-*.whl && rm -r /wheel
