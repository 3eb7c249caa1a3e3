"""From the name of a scorer, or a function, to the scorer itself."""

from __future__ import annotations

from typing import Any

from distrivote.engines.base import Engine
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.errors import InputError
from distrivote.names import SCORER, found, own_of, unknown
from distrivote.scorers import marks, ptrue
from distrivote.scorers.command import PREFIX, CommandScorer
from distrivote.scorers.own import OwnScorer
from distrivote.scorers.ptrue import FirstTokenScorer
from distrivote.scorers.reward import WAYS, RewardScorer
from distrivote.scorers.scorer import Scorer

_FIRST_TOKEN: dict[str, type[FirstTokenScorer]] = {
    ptrue.NAME: ptrue.TrueScorer,
    ptrue.OF_ANSWER: ptrue.TrueScorer,
    marks.NAME: marks.MarkScorer,
    marks.OF_ANSWER: marks.MarkScorer,
}
NAMES = (PREFIX, *WAYS, *_FIRST_TOKEN)


def uses_engine(scorer: Any) -> bool:
    """Return whether a scorer asks a model."""
    return isinstance(scorer, str) and scorer.partition(":")[0] in (*WAYS, ptrue.NAME, marks.NAME)


def scorer_of(scorer: Any, engine: Engine | None = None) -> Scorer:
    """Return the scorer for a name, a function, an object with `score_all`, or a `Scorer`.

    `engine` is the model to ask; only those that ask one may have it.
    """
    if not isinstance(scorer, str):
        if hasattr(scorer, "score_all"):
            return OwnScorer(own_of(SCORER, scorer.score_all)._replace(value=scorer))
        if all(hasattr(scorer, name) for name in ("score", "reads", "needs", "settings")):
            given: Scorer = scorer
            return given
        return OwnScorer(own_of(SCORER, scorer))
    if scorer.startswith(PREFIX):
        return CommandScorer(scorer.removeprefix(PREFIX))
    if not uses_engine(scorer):
        own = found(SCORER, scorer, NAMES)
        if own is None:
            raise unknown(SCORER, scorer, NAMES)
        return OwnScorer(own)
    if scorer in _FIRST_TOKEN:
        if engine is None:
            raise _without_engine(scorer, "a model")
        return _FIRST_TOKEN[scorer](scorer, engine)
    if scorer.partition(":")[0] not in WAYS:
        raise unknown(SCORER, scorer, NAMES)
    if not isinstance(engine, OpenAIEngine):
        raise _without_engine(scorer, "a server with a reward model")
    return RewardScorer(scorer, engine)


def opened(choice: EngineChoice, scorer: str) -> Engine:
    """Return the engine that a scorer asks."""
    if scorer.partition(":")[0] in WAYS and choice.engine != "openai":
        raise _without_engine(scorer, "a server with a reward model")
    return open_engine(choice)


def _without_engine(scorer: str, what: str) -> InputError:
    return InputError(f"the scorer {scorer} needs {what}", hint="give `base_urls`", argument="base_urls")
