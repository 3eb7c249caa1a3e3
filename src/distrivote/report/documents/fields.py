"""The fields of each document: names, types, and a sentence about every field.

This is the only source of docs/reference/documents.md, of documents.schema.json and of the replies in the
server's OpenAPI document. Names are those of the Python API and of the Parquet columns. Every field is always
present: an unknown or missing value is null, and so is a number that JSON does not have (NaN). Higher
confidence means surer.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict


class SplitDocument(TypedDict):
    """How a pool was divided by confidence into likely right (positive) and likely wrong (negative)."""

    cut: Annotated[float | None, "Midpoint between the two sides; null if nothing is likely wrong."]
    n_positive: Annotated[int, "Trajectories above the cut."]
    n_negative: Annotated[int, "Trajectories below the cut."]
    weights: Annotated[
        list[float] | None, "Of the likely wrong and the likely right Gaussian; null if none are fitted."
    ]
    means: Annotated[list[float] | None, "Of the same two."]
    sds: Annotated[list[float] | None, "The standard deviations of the same two."]


class WeighingDocument(TypedDict):
    """How `auto` weighed confidence against votes."""

    answer: Annotated[
        str,
        "The answer that was weighed against the majority's: the winner, or if that is the majority's,"
        " the one that the confidences support.",
    ]
    odds: Annotated[float | None, "Of that answer against the majority's; null if they are the same."]
    gap: Annotated[float | None, "How much surer its trajectories are, in standard deviations of ranks."]
    voted: Annotated[str | None, "The answer of DistriVoting alone."]
    trusted: Annotated[bool, "Whether confidence decided: the odds are above 1, or both agree."]


class BallotEntry(TypedDict):
    """One trajectory in the vote."""

    index: Annotated[int, "The trajectory's number from 0; `sample` in run files."]
    answer: Annotated[str | None, "The label of its class of answers: `0.5` and `1/2` are one answer."]
    confidence: Annotated[float | None, "The confidence that the method used."]
    likely_right: Annotated[
        bool | None, "Above (true) or below (false) the first cut; null without a cut or a confidence."
    ]
    rejected: Annotated[bool, "Whether it gave the rejected answer."]
    kept: Annotated[bool, "Whether it takes part in the final vote."]


class TallyDocument(TypedDict):
    """The result of one method on one pool of trajectories."""

    method: Annotated[str, "The method's name."]
    answer: Annotated[str | None, "The answer to believe; null if there is none, or if it is withheld."]
    share: Annotated[float, "The winner's share of the score; not a probability."]
    probability: Annotated[
        float | None, "How probable it is that the winner is right; 0 without one, null if `no_probability`."
    ]
    no_probability: Annotated[str | None, "Why answers of this kind have no probability; null if they have."]
    calibrated: Annotated[
        bool, "Whether probabilities were fitted on pools of this size and for this kind of answer."
    ]
    abstained: Annotated[bool, "Whether the winner is less probable than `min_probability`."]
    withheld: Annotated[str | None, "The winner, if it is withheld for that reason; otherwise null."]
    withheld_reason: Annotated[str | None, "The reason in a sentence, which does not name the winner."]
    majority: Annotated[str | None, "The answer of majority voting."]
    rejected: Annotated[str | None, "The answer that was dropped because the likely wrong side prefers it."]
    negative_answer: Annotated[str | None, "What the likely wrong side prefers, dropped or not."]
    n_trajectories: Annotated[int, "Trajectories in the pool."]
    n_cast: Annotated[int, "Trajectories with an answer."]
    n_kept: Annotated[int, "Trajectories that take part in the final vote."]
    n_unanswered: Annotated[int, "Trajectories without an answer."]
    n_unmeasured: Annotated[
        int, "Answers without a confidence, which count in the majority only; 0 where none is looked at."
    ]
    fallback: Annotated[bool, "Whether majority voting decided because no answer has a confidence."]
    answers: Annotated[list[str], "All answers, the winner first, then by score."]
    votes: Annotated[dict[str, int], "By answer: trajectories that gave it."]
    likely_right_votes: Annotated[
        dict[str, int], "By answer: those above the first cut (stage I); all, for methods without a cut."
    ]
    kept_votes: Annotated[
        dict[str, int], "By answer: those in the final vote, after the rejection (stage II)."
    ]
    scores: Annotated[dict[str, float | None], "By answer: the score in the final vote (stage III)."]
    shares: Annotated[dict[str, float], "By answer: the share of the score."]
    probabilities: Annotated[
        dict[str, float], "By answer: its probability; the sum may be below 1, for answers that nobody gave."
    ]
    first_split: Annotated[SplitDocument | None, "The cut of the whole pool; null for methods without."]
    split: Annotated[
        SplitDocument | None,
        "The cut of the final vote: the second one if an answer was rejected, otherwise the first;"
        " null if it decided nothing.",
    ]
    intervals_won: Annotated[
        list[int] | None, "Intervals of confidence that the answer won, and how many voted; otherwise null."
    ]
    weighing: Annotated[WeighingDocument | None, "For `auto` only."]
    ballot: Annotated[list[BallotEntry], "Every trajectory of the pool and how it was counted."]
    notes: Annotated[list[str], "Caveats, a sentence each."]
    explanation: Annotated[str, "How the answer was chosen: a sentence or two on each line."]


class ReflectionDocument(TypedDict):
    """A text that SelfStepConf injected into a trajectory."""

    token: Annotated[int, "The index of its first token."]
    n_tokens: Annotated[int, "Its length."]
    step: Annotated[int, "The step that it begins, from 0."]
    text_start: Annotated[int | None, "Where it begins in `text`, in UTF-16 units; null if unknown."]
    text_end: Annotated[int | None, "Where it ends."]


class TrajectoryDocument(TypedDict):
    """One sampled reply.

    The lists about its steps have the same length, or are empty. Positions in a text count UTF-16 units, so
    that `text.slice(step_text_ends[i - 1] ?? 0, step_text_ends[i])` in JavaScript is step `i`.
    """

    index: Annotated[int, "Its number from 0; `sample` in run files."]
    answer: Annotated[
        str | None,
        "Its answer: in a finished vote the label of its class, in the event `trajectory` and in a stored run"
        " as it was written.",
    ]
    confidence: Annotated[float | None, "By the measure of the vote."]
    correct: Annotated[bool | None, "Whether the answer is right; null if unknown."]
    n_tokens: Annotated[int | None, "Its length; null if a stored run does not have it."]
    finish_reason: Annotated[str | None, "Why it ended: `stop`, `length`, or the engine's own word."]
    server: Annotated[str | None, "The server that it came from, if there are several."]
    model: Annotated[str | None, "The model that sampled it, if there are several."]
    step_ends: Annotated[list[int], "The exclusive end of each step, in tokens."]
    step_confidences: Annotated[list[float | None], "The confidence of each step."]
    step_text_ends: Annotated[list[int], "Where each step ends in `text`; empty if tokens are unknown."]
    thresholds: Annotated[
        list[float | None],
        "The threshold of SelfStepConf at each step, null for the first; empty if it was off.",
    ]
    reflections: Annotated[list[ReflectionDocument], "The texts that were injected."]
    text: Annotated[str | None, "The reply; null in lists of stored trajectories."]


class RunnerUpDocument(TypedDict):
    """The value of a field that came second."""

    value: Annotated[Any, "The value."]
    votes: Annotated[int, "Trajectories that have it there."]


class FieldDocument(TypedDict):
    """The vote on one value of a JSON answer."""

    path: Annotated[str, "As in `items[0].price`."]
    value: Annotated[Any, "The value that was elected."]
    votes: Annotated[int, "Trajectories that have this value there."]
    n: Annotated[int, "Trajectories with JSON."]
    share: Annotated[float | None, "Of the score of all values there."]
    probability: Annotated[float | None, "How probable the value is."]
    confidence: Annotated[float | None, "The mean confidence of those that have it."]
    runner_up: Annotated[
        RunnerUpDocument | None, "The most frequent other value there; null if there is no other."
    ]


class SolutionDocument(TallyDocument):
    """The vote on one question that a model was asked, and its cost."""

    budget: Annotated[int, "The number of trajectories that were requested."]
    answer_kind: Annotated[str, "What counted as an answer: math, choice, short, json, code, text ..."]
    reply: Annotated[
        str,
        "The reply to show, without its thinking: that of the best trajectory, or the object put together.",
    ]
    fields: Annotated[
        list[FieldDocument] | None, "The vote on each field of a JSON answer; null where there was none."
    ]
    template: Annotated[str, "How the question was put, by name or as a text with {question}."]
    best: Annotated[int | None, "`index` of the trajectory that is shown."]
    stopped: Annotated[str | None, "Why there are fewer trajectories than the budget, in a sentence."]
    n_tokens: Annotated[int, "Tokens that were sampled."]
    n_tokens_saved: Annotated[int, "An estimate of the tokens that a stopping rule saved."]
    n_reflections: Annotated[int, "Texts that SelfStepConf injected."]
    seconds: Annotated[float, "How long the sampling took."]
    trajectories: Annotated[list[TrajectoryDocument] | None, "All of them; null if they were not requested."]


class MessageDocument(TypedDict):
    """One turn of a conversation."""

    role: Annotated[str, "`system`, `user` or `assistant`."]
    content: Annotated[str, "Its text."]


class AskDocument(SolutionDocument):
    """`distrivote ask --json`."""

    question: Annotated[str, "As it was asked."]
    messages: Annotated[list[MessageDocument], "The conversation that the model was sent."]
    model: Annotated[str, "The model that answered."]
    steering: Annotated[str, "What the controller did, in words; `off` without one."]


class VoteRow(TypedDict):
    """The vote of one method on one question of a file: the columns of result files.

    With `--by` a column of that name follows `question_id`.
    """

    question_id: Annotated[str | int | float | None, "As in the file."]
    method: Annotated[str, "The method's name."]
    answer: Annotated[str | None, "The answer to believe; null if there is none, or if it is withheld."]
    share: Annotated[float, "The winner's share of the score; not a probability."]
    n_kept: Annotated[int, "Trajectories that take part in the final vote."]
    n_cast: Annotated[int, "Trajectories with an answer."]
    n_unanswered: Annotated[int, "Trajectories without an answer."]
    rejected: Annotated[str | None, "The answer that was dropped."]
    correct: Annotated[bool | None, "Whether the answer is right; null if unknown, or if it is withheld."]
    majority: Annotated[str | None, "The answer of majority voting."]
    majority_correct: Annotated[bool | None, "Whether that is right."]
    ground_truth: Annotated[str | None, "The right answer, if known."]
    probability: Annotated[
        float | None, "How probable it is that the winner is right; 0 without one, null for texts."
    ]
    abstained: Annotated[bool, "Whether the winner is less probable than `min_probability`."]
    withheld: Annotated[str | None, "The winner, if it is withheld for that reason; otherwise null."]
    n_unmeasured: Annotated[int, "Answers without a confidence, which count in the majority only."]


class AccuracyDocument(TypedDict):
    """How often a method is right, over the questions whose right answer is known."""

    accuracy: Annotated[float, "The share of right answers."]
    interval: Annotated[list[float], "Wilson's 95% interval."]
    n_right: Annotated[int, "Right answers."]
    n_known: Annotated[int, "Answers that were given, of which it is known whether they are right."]


class SummaryDocument(TypedDict):
    """Counts over all questions of a file."""

    n_questions: Annotated[int, "Questions."]
    n_trajectories: Annotated[int, "Rows."]
    n_unanswered: Annotated[int, "Rows without an answer."]
    n_unmeasured: Annotated[int, "Answers without a confidence, if a method uses confidences."]
    n_fallbacks: Annotated[int, "Questions where majority voting decided because no answer has a confidence."]
    n_small_pools: Annotated[int, "Questions with fewer than 16 answers."]
    n_one_hump: Annotated[int, "Questions whose confidences hardly have two humps."]
    n_uncalibrated: Annotated[int, "Questions of a size on which probabilities were not fitted."]
    n_withheld: Annotated[dict[str, int], "By method: answers that were withheld."]
    accuracy: Annotated[dict[str, AccuracyDocument], "By method, if right answers are known."]


class VotesDocument(TypedDict):
    """`distrivote vote --json`: every question of a file."""

    methods: Annotated[list[str], "The methods, in order."]
    questions: Annotated[list[VoteRow], "A row per question and method."]
    summary: Annotated[SummaryDocument, "Counts over all questions."]


class ExplainedDocument(VotesDocument):
    """`distrivote vote --explain QUESTION --json`: one question."""

    explanations: Annotated[list[TallyDocument], "A tally per method."]


class RunRow(VoteRow):
    """A question of a stored run in the page's list."""

    question: Annotated[str | None, "The first 300 characters; null if the run has no texts."]
    n_trajectories: Annotated[int, "Trajectories of the question."]
    n_answers: Annotated[int | None, "Different answers."]
    n_right: Annotated[int | None, "Right trajectories; null if unknown."]
    n_tokens: Annotated[int | None, "Tokens, as far as they are known."]


class RunQuestion(TallyDocument):
    """A question of a stored run on the page."""

    question_id: Annotated[str, "The question's id."]
    question: Annotated[str | None, "Its text; null if the run has none."]
    ground_truth: Annotated[str | None, "The right answer, if known."]
    correct: Annotated[bool | None, "Whether the answer is right."]
    majority_correct: Annotated[bool | None, "Whether majority voting is right."]
    best: Annotated[int | None, "`index` of the most confident trajectory that gave the winner."]
    ssc: Annotated[dict[str, float] | None, "`alpha` and `delta` of SelfStepConf; null if it was off."]
    trajectories: Annotated[list[TrajectoryDocument], "All of them, without their texts."]


DOCUMENTS: tuple[type, ...] = (
    TallyDocument,
    SplitDocument,
    WeighingDocument,
    BallotEntry,
    TrajectoryDocument,
    ReflectionDocument,
    SolutionDocument,
    FieldDocument,
    RunnerUpDocument,
    AskDocument,
    MessageDocument,
    VotesDocument,
    ExplainedDocument,
    VoteRow,
    SummaryDocument,
    AccuracyDocument,
    RunRow,
    RunQuestion,
)
"""All of them, in the order of the reference."""

OPEN: tuple[type, ...] = (VoteRow, RunRow)
"""Those that may have an additional field: the column of `--by`."""
