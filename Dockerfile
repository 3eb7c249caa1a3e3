# syntax=docker/dockerfile:1
# Two images: `server` (distrivote in front of a model server) and `vllm` (vLLM with the SelfStepConf plugin).
# Never built where this project is made, for want of Docker: see docs/deploying.md.

FROM python:3.11-slim AS wheel
WORKDIR /src
RUN pip install --no-cache-dir hatchling==1.33.0
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# The builder is here already, so that nothing more is fetched.
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
# A host that others can reach needs DISTRIVOTE_API_KEY; without it the server says so and does not start.
ENTRYPOINT ["distrivote", "serve", "--host", "0.0.0.0"]

# A release that the plugin is tested with: docs/vllm.md.
FROM vllm/vllm-openai:v0.32.0 AS vllm
COPY --from=wheel /wheel /wheel
# The image's own packages stay as they are: the plugin needs NumPy alone.
RUN python3 -m pip install --no-cache-dir --no-deps /wheel/distrivote-*.whl && rm -r /wheel
