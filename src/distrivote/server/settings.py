"""What the operator decides when the server starts; nothing here changes while it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from distrivote.answers.judging import asked_same
from distrivote.answers.kinds import asked_kind
from distrivote.confidence import measure_named
from distrivote.defaults import (
    ANSWER,
    BUDGET,
    MAX_CONCURRENCY,
    MAX_TOKENS,
    MAX_TOKENS_LIMIT,
    MIN_PROBABILITY,
    SERVER_MAX_BUDGET,
    TEMPLATE,
)
from distrivote.errors import InputError
from distrivote.prompts import TEMPLATE_NAMES
from distrivote.steering import steering_of
from distrivote.voting.abstaining import check_min_probability
from distrivote.voting.probability import Calibration

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other machine can reach."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits, defaults and the key.

    >>> Settings(max_budget=64).max_budget
    64
    """

    api_key: str | None = field(default=None, repr=False)
    """What clients have to send; None: nothing."""

    budget: int = BUDGET
    """Trajectories per question where a request does not say it."""

    max_budget: int = SERVER_MAX_BUDGET
    max_concurrency: int = MAX_CONCURRENCY
    """Requests in progress, sampling or queued; others get 429."""

    max_tokens: int = MAX_TOKENS
    """The longest trajectory where a request does not say it; see `sends_max_tokens`."""

    sends_max_tokens: bool = False
    """Whether `max_tokens` goes to an upstream with requests that have none; else its own default holds."""

    max_tokens_limit: int = MAX_TOKENS_LIMIT
    """The longest that a request may ask for."""

    max_body: int = 4_000_000
    """Bytes of a request; larger ones are refused with 413."""

    body_seconds: float = 60.0
    """How long a request may take to arrive; slower ones are refused with 408."""

    template: str = TEMPLATE
    """How the page puts a question. Conversations of the API go to the model as they are."""

    answer: str = ANSWER
    """What an answer is where a request does not say it."""

    forward: tuple[str, ...] = ()
    """Addresses besides the usual ones that are forwarded to the upstream."""

    run_code: bool = False
    """Whether programs that the model wrote may be run. No request can say so."""

    strict: bool = False
    """Whether a question whose replies have no answer is an error; else its best reply is returned."""

    same: str | None = None
    """When two answers are one where a request does not say it; None: what the kind of answer says. A judge,
    embeddings and commands can be named here only: no request may start programs or multiply its costs."""

    ssc: bool | None = None
    """Whether SelfStepConf steers where a request does not say it; None: where the engine can."""

    steering: str | None = None
    """A controller of one's own where a request does not say another; None: SelfStepConf, as `ssc` says."""

    min_probability: float = MIN_PROBABILITY
    """Answers below it are withheld where a request does not say it."""

    max_error: float | None = None
    """The largest share of wrong answers where a request does not say it: see `voting.promises`."""

    calibration: Calibration = field(default_factory=Calibration)
    """Where probabilities come from."""

    measure: str | None = None
    """What a confidence is, by name; None: as `solve` has it."""

    run: str | Path | None = None
    """A stored run to look at."""

    static: Path | None = None
    """The folder of the page; None: the one that comes with the package."""

    hosts: tuple[str, ...] = ()
    """Names that the server may be addressed by; empty: any. Without a key these should be the loopback's,
    or a page from elsewhere could reach it under a name of its own."""

    allow_origins: tuple[str, ...] = ()
    """Web pages of these origins may use the server from a browser; `*`: any, which needs a key."""

    def __post_init__(self) -> None:
        self._check_origins()
        for name in ("max_budget", "budget", "max_concurrency", "max_tokens", "max_tokens_limit", "max_body"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}", hint="give 1 or more", argument=name)
        check_min_probability(self.min_probability)
        asked_kind(self.answer)
        if self.steering is not None:
            steering_of(self.steering)
        if self.measure is not None:
            measure_named(self.measure)
        for path in self.forward:
            if not re.fullmatch(r"/v1/[a-z0-9_/-]{1,60}", path):
                raise InputError(
                    f"the address to forward is {path!r}", hint="give one like /v1/score", argument="forward"
                )
        asked_same(self.same)
        if self.budget > self.max_budget:
            raise InputError(
                f"the usual budget is {self.budget} and the largest {self.max_budget}",
                hint="raise `max_budget`, or lower `budget`",
                argument="budget",
            )
        if self.template not in TEMPLATE_NAMES:
            raise InputError(f"the template is {self.template!r}: give one of {', '.join(TEMPLATE_NAMES)}")
        key = self.api_key
        if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
            raise InputError(
                "the server's API key is empty or holds spaces, line breaks or letters beyond ASCII: give"
                " another"
            )

    def _check_origins(self) -> None:
        for origin in self.allow_origins:
            if origin == "*" and self.api_key is None:
                raise InputError(
                    "every web page could use the model",
                    hint="give `api_key`, or name the origins",
                    argument="allow_origin",
                )
            if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", origin):
                raise InputError(
                    f"the origin is {origin!r}",
                    hint="give one like https://example.com, without a path, or *",
                    argument="allow_origin",
                )


def check_host(host: str, api_key: str | None) -> None:
    """Raise InputError if others could reach the server without a key."""
    if host not in LOOPBACK and api_key is None:
        raise InputError(
            f"on {host} everyone who can reach this machine could use the model",
            hint="give `api_key` (or set DISTRIVOTE_API_KEY), or leave out `host` to serve this machine only",
            argument="api_key",
        )
