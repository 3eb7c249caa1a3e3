"""A run by batch files: the requests for its missing trajectories are written, and their output is read in.

Hosted APIs process such files at half the price within a day; `vllm run-batch` takes the same format. The
folder `batch` of the run holds the questions, so that a run that was begun continues by its path alone.
Requests that failed or have no output remain missing and are written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from distrivote.benchmarks.benchmark import Benchmark
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.extras import Extras
from distrivote.engines.openai.flaws import flaw_of
from distrivote.engines.openai.protocol import OFF, Body, Dialect, Prompt, request_body, seed_of
from distrivote.engines.responses import ReplyError, trajectories_from_openai
from distrivote.errors import InputError, UnknownNameError
from distrivote.generation.sampling import Todo, check_k, question_seed
from distrivote.generation.settings import RunSettings, changed_question
from distrivote.problem import Problem
from distrivote.store.runs.folder import is_remote
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, row_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.sources import SOURCE, SOURCED, whole_ks
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Trajectory

FOLDER = "batch"
_QUESTIONS, _SETTINGS, _REQUESTS = "questions.jsonl", "settings.json", "requests-{:03}.jsonl"
MAX_REQUESTS, MAX_BYTES = 50_000, 190_000_000
"""The limits of one file, as OpenAI sets them."""

_LONGEST_ID = 48
HOSTS: Mapping[str, Dialect] = {
    "openai": Dialect(0, "max_completion_tokens", frozenset(OFF)),
    "vllm": Dialect(0),
    "other": Dialect(0, left_out=frozenset(OFF)),
}
"""How requests are written for each host: fields that are off are left out if a host may refuse them."""


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How the requests of a run are written."""

    model: str
    host: str = "openai"
    """A name from `HOSTS`."""

    n_logprobs: int = 20
    """How many log-probabilities are asked for at each token; 0 for none."""

    extra_body: Mapping[str, Any] | None = None
    reasoning_effort: str | None = None

    def __post_init__(self) -> None:
        if self.host not in HOSTS:
            raise UnknownNameError("host", self.host, HOSTS, argument="host")
        if not 0 <= self.n_logprobs <= 1000:
            raise InputError(f"n_logprobs is {self.n_logprobs}: give 0 (none) or more")

    @property
    def extras(self) -> Extras:
        return Extras(self.extra_body or {}, effort=self.reasoning_effort)

    def body(self, problem: Problem, params: SamplingParams, sample: int) -> Body:
        """Return the body of the request for one trajectory."""
        dialect = replace(HOSTS[self.host], n_logprobs=self.n_logprobs, extra=self.extras.fields)
        seed = seed_of(question_seed(params.seed, problem.id), sample)
        made = request_body(self.model, Prompt(problem.messages()), params, dialect, seed=seed)
        del made["stream"]
        return made


@dataclass(frozen=True, slots=True)
class BatchWritten:
    """The files of requests that were written."""

    files: tuple[Path, ...]
    n_requests: int
    n_questions: int


@dataclass(frozen=True, slots=True)
class BatchRead:
    """The result of reading output files."""

    n_added: int
    n_there: int
    """Trajectories that the run already had."""

    n_failed: int
    first_failure: str | None
    n_lacking: int
    """Trajectories that are still missing."""


def begin_batch(path: str, settings: RunSettings, batch: BatchSettings) -> BatchWritten:
    """Begin a run, or continue it, and write the requests for its missing trajectories."""
    if settings.controller is not None or settings.rule is not None:
        raise InputError("a batch is sampled without steering and without a stopping rule: leave them out")
    if is_remote(path):
        raise InputError(f"{path}: the files of a batch are on this machine: name a folder here")
    manifest = settings.manifest("openai", batch.model, batch.extras.settings())
    with RunWriter(path, manifest):
        pass
    changed = changed_question(path, settings.benchmark.problems)
    if changed is not None:
        raise InputError(
            f"question {changed!r} of {path} was sampled with another text than {settings.benchmark.source}"
            " has now: restore the file, or name another run"
        )
    folder = Path(path) / FOLDER
    folder.mkdir(exist_ok=True)
    lines = (json.dumps(asdict(problem), ensure_ascii=False) for problem in settings.benchmark.problems)
    (folder / _QUESTIONS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / _SETTINGS).write_text(json.dumps(asdict(batch), indent=2) + "\n", encoding="utf-8")
    return _write(path, settings, batch)


def continue_batch(path: str, budget: int | None = None) -> BatchWritten:
    """Write the requests for what is missing in a run of `begin_batch`; a larger budget only adds."""
    settings, batch = _stored(path)
    if budget is not None and budget > settings.budget:
        settings = replace(settings, budget=budget)
        with RunWriter(path, replace(Manifest.load(path), budget=budget)):
            pass
    return _write(path, settings, batch)


def _write(path: str, settings: RunSettings, batch: BatchSettings) -> BatchWritten:
    folder = Path(path) / FOLDER
    for old in folder.glob("requests-*.jsonl"):
        old.unlink()
    work = settings.lacking(path)
    files: list[Path] = []
    for number, lines in enumerate(_in_files(_requests(work, settings.params, batch)), 1):
        files.append(folder / _REQUESTS.format(number))
        files[-1].write_bytes(b"".join(lines))
    return BatchWritten(tuple(files), sum(len(item.samples) for item in work), len(work))


def _requests(work: Sequence[Todo], params: SamplingParams, batch: BatchSettings) -> Iterator[bytes]:
    for problem, samples in work:
        for sample in samples:
            request = {
                "custom_id": custom_id(problem, sample),
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": batch.body(problem, params, sample),
            }
            yield json.dumps(request, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _in_files(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of one file after the other."""
    part: list[bytes] = []
    n_bytes = 0
    for line in lines:
        if part and (len(part) == MAX_REQUESTS or n_bytes + len(line) > MAX_BYTES):
            yield part
            part, n_bytes = [], 0
        part.append(line)
        n_bytes += len(line)
    if part:
        yield part


def custom_id(problem: Problem, sample: int) -> str:
    """Return the custom_id of a request, which identifies its reply.

    >>> custom_id(Problem("2 + 2?", id="sums-7"), 3)
    'sums-7#3'
    """
    name = problem.id
    if len(name) > _LONGEST_ID or not name.isascii() or not name.isprintable():
        name = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return f"{name}#{sample}"


def read_batch(path: str, files: Sequence[str | Path], keep: Keep = Keep()) -> BatchRead:  # noqa: B008
    """Read output files into their run: stored trajectories are skipped, failures are counted."""
    settings, batch = _stored(path)
    wanted = {
        custom_id(problem, sample): (problem, sample)
        for problem in settings.benchmark.problems
        for sample in range(settings.budget)
    }
    n_added = n_there = 0
    failures: list[str] = []
    with RunWriter(path, Manifest.load(path), keep=keep) as writer:
        ks = whole_ks(Run.open(path).table((*SOURCED, SOURCE, "k", "flaw")))
        done = writer.done()
        for where, line in _lines(files):
            name = line.get("custom_id")
            if name not in wanted:
                raise InputError(
                    f"{where}: {name!r} is no request of {path}: name the run that it belongs to"
                )
            problem, sample = wanted[name]
            if (problem.id, sample) in done:
                n_there += 1
                continue
            failure = _failure(line)
            if failure is not None:
                failures.append(failure)
                continue
            trajectory = replace(_trajectory(line["response"]["body"], batch, where), index=sample)
            row = row_of(problem, trajectory, seed=question_seed(settings.params.seed, problem.id))
            check_k(row, ks, writer)
            writer.add(row)
            done.add((problem.id, sample))
            n_added += 1
    n_lacking = sum(len(item.samples) for item in settings.lacking(path))
    return BatchRead(n_added, n_there, len(failures), failures[0] if failures else None, n_lacking)


def _lines(files: Sequence[str | Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of output files with file name and line number."""
    for file in files:
        try:
            with open(file, encoding="utf-8", errors="replace") as text:
                for number, line in enumerate(text, 1):
                    if line.strip():
                        where = f"{file}, line {number}"
                        yield where, _object(line, where)
        except OSError as error:
            raise InputError(f"can't read {file} ({error.strerror or error}): check its name") from error


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "custom_id" not in found:
        raise InputError(f"{where} is no line of a batch's output: give files with a custom_id in each line")
    return found


def _failure(line: Mapping[str, Any]) -> str | None:
    """Return why a request failed, None if it has a reply."""
    response = line.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    choices = body.get("choices") if isinstance(body, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if not line.get("error") and choices and status in (200, None):
        return None
    error = line.get("error") or (body.get("error") if isinstance(body, dict) else None)
    said = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return str(said or "no reply")[:120]


def _trajectory(body: dict[str, Any], batch: BatchSettings, where: str) -> Trajectory:
    """Return the first reply of a response; tokens that do not spell it are dropped and the row is marked."""
    first = body | {"choices": body["choices"][:1]}
    try:
        (made,) = trajectories_from_openai(first)
        flaw = flaw_of(made, batch.n_logprobs)
        words = None if flaw is None else flaw.words
    except ReplyError as error:
        (made,) = trajectories_from_openai(first | {"choices": [body["choices"][0] | {"logprobs": None}]})
        words = error.flaw
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    usage = body.get("usage")
    n_prompt, n_reply = (
        usage.get(name) if isinstance(usage, dict) and isinstance(usage.get(name), int) else None
        for name in ("prompt_tokens", "completion_tokens")
    )
    return replace(made, n_prompt_tokens=n_prompt, n_reply_tokens=n_reply, flaw=words)


def _stored(path: str) -> tuple[RunSettings, BatchSettings]:
    """Return the settings of a run that `begin_batch` has begun."""
    folder = Path(path) / FOLDER
    try:
        batch = BatchSettings(**json.loads((folder / _SETTINGS).read_text(encoding="utf-8")))
        lines = (folder / _QUESTIONS).read_text(encoding="utf-8").splitlines()
        problems = tuple(Problem(**json.loads(line)) for line in lines)
        manifest = Manifest.load(path)
    except OSError:
        raise InputError(
            f"{path} was not begun as a batch", hint="give `benchmark` and `model`", argument="benchmark"
        ) from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{folder} can't be read ({error}): restore it from a copy") from error
    name, _, source = manifest.benchmark.partition(": ")
    sampling = {**manifest.sampling, "stop": tuple(manifest.sampling["stop"]), "seed": manifest.seed}
    settings = RunSettings(
        Benchmark(name, problems, source, manifest.system),
        SamplingParams(**sampling),
        None,
        manifest.budget,
        manifest.limit,
        same=manifest.same,
    )
    return settings, batch
