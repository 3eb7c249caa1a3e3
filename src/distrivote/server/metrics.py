"""Metrics for Prometheus, in its text format; they are updated in the event loop only."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distrivote.server.asking import Answered
    from distrivote.server.record import RequestRecord

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Metrics:
    """Counters since the start of the server."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._tokens = Counter(dict.fromkeys(_OUTCOMES, 0))
        self._prompt_tokens = Counter(dict.fromkeys(_OUTCOMES, 0))
        self._totals: Counter[str] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._n_votes = 0

    def ended(self, record: RequestRecord) -> None:
        """Count a request by its status, and its tokens by their outcome."""
        self._requests[record.endpoint, record.status] += 1
        self._tokens[record.outcome] += record.n_tokens
        self._prompt_tokens[record.outcome] += record.n_prompt_tokens

    def voted(self, answered: Answered) -> None:
        """Count a vote."""
        self._totals["trajectories"] += len(answered.solution.trajectories)
        self._totals["tokens_saved"] += answered.solution.n_tokens_saved
        self._totals["reflections"] += answered.solution.n_reflections
        self._totals["overruled"] += answered.solution.tally.majority != answered.solution.answer
        self._n_votes += 1
        self._seconds += answered.seconds
        for most in _BUCKETS:
            self._buckets[most] += answered.seconds <= most

    def text(self, n_active: int) -> str:
        """Return all metrics, including the number of requests in progress."""
        lines = _head("requests_total", "counter", "Requests by endpoint and HTTP status; 499: cancelled.")
        for (endpoint, status), n in sorted(self._requests.items()):
            lines.append(f'distrivote_requests_total{{endpoint="{endpoint}",status="{status}"}} {n}')
        lines += _head("requests_under_way", "gauge", "Requests in progress: sampling, forwarded or queued.")
        lines.append(f"distrivote_requests_under_way {n_active}")
        for name, counts, meaning in (
            ("tokens_total", self._tokens, "Sampled tokens by outcome."),
            ("prompt_tokens_total", self._prompt_tokens, "Prompt tokens of all trajectories by outcome."),
        ):
            lines += _head(name, "counter", meaning)
            lines += [f'distrivote_{name}{{outcome="{key}"}} {n}' for key, n in sorted(counts.items())]
        for name, meaning in _TOTALS.items():
            lines += _head(f"{name}_total", "counter", meaning)
            lines.append(f"distrivote_{name}_total {self._totals[name]}")
        lines += _head("vote_seconds", "histogram", "Seconds from the start of sampling to the vote.")
        for most in _BUCKETS:
            lines.append(f'distrivote_vote_seconds_bucket{{le="{most:g}"}} {self._buckets[most]}')
        lines.append(f'distrivote_vote_seconds_bucket{{le="+Inf"}} {self._n_votes}')
        lines.append(f"distrivote_vote_seconds_sum {self._seconds:.6f}")
        lines.append(f"distrivote_vote_seconds_count {self._n_votes}")
        return "\n".join(lines) + "\n"


_OUTCOMES = ("voted", "forwarded", "cancelled", "failed")

_TOTALS = {
    "trajectories": "Trajectories that were voted on.",
    "tokens_saved": "Tokens that stopping rules saved, estimated.",
    "reflections": "Texts that SelfStepConf injected.",
    "overruled": "Votes whose winner differs from that of majority voting.",
}


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP distrivote_{name} {meaning}", f"# TYPE distrivote_{name} {kind}"]
