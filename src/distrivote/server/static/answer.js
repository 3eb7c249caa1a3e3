// The answer as a card: how likely it is right, what was chosen, the reply, what a majority says, and the cost.

import { el, help, say } from "./dom.js";
import { codeBlock, copied, markdown } from "./markdown.js";
import { count, counted, known, likely, seconds } from "./numbers.js";
import { answerSpan } from "./prose.js";

/** An answer of more characters, or of several lines, is read as the reply and not as a headline. */
const HEADLINE = 120;

export class AnswerCard {
  /** `actions` are buttons that belong to a finished vote. */
  constructor(actions = []) {
    this.label = el("h2", { class: "eyebrow" });
    this.answer = el("p", { class: "answer", "aria-live": "polite" });
    this.verdict = el("p", { class: "verdict" });
    this.likely = el("b");
    this.bar = el("i", { class: "fill kept" });
    this.probable = el(
      "div",
      { class: "probable" },
      el(
        "p",
        {},
        this.likely,
        " likely right ",
        help(
          "How probable it is that this answer is right, by the votes and the confidences. It was calibrated on questions whose right answers are known.",
        ),
      ),
      el("span", { class: "track", "aria-hidden": "true" }, this.bar),
    );
    this.agreeing = el("p", { class: "quiet" });
    this.facts = el("dl", { class: "facts" });
    this.note = el("p", { class: "note" });
    this.heading = el("h3");
    this.reply = el("div", { class: "reply-text", dir: "auto", tabindex: "0" });
    this.copy = el("button", { type: "button", class: "plain" }, "Copy");
    this.copy.addEventListener("click", () => this.#copied());
    this.whole = el("section", { class: "reply", "aria-label": "Reply" }, this.heading, this.copy, this.reply);
    this.actions = el("p", { class: "buttons actions" }, ...actions);
    this.element = el(
      "section",
      { class: "card", "aria-label": "Answer" },
      this.label,
      this.answer,
      this.verdict,
      this.probable,
      this.agreeing,
      this.note,
      this.whole,
      this.facts,
      this.actions,
    );
  }

  async #copied() {
    // Where copying is not allowed, the reply is at least selected.
    if (!(await copied(this.copy, this.text ?? ""))) getSelection()?.selectAllChildren(this.reply);
  }

  update(vote) {
    const { tally } = vote;
    this.element.dataset.state = vote.state;
    say(this.label, label(vote));
    const shown = `${vote.state === "failed"} ${vote.withheld} ${vote.winner ?? ""}`;
    if (this.vote !== vote || this.shown !== shown) {
      this.shown = shown;
      this.answer.replaceChildren(answer(vote));
      this.answer.classList.toggle("long", String(vote.winner ?? "").length > 28);
    }
    const another = this.vote !== vote;
    this.vote = vote;
    this.verdict.hidden = vote.right === null || vote.right === undefined;
    if (!this.verdict.hidden) this.verdict.replaceChildren(...verdict(vote));
    this.#drawProbability(tally, vote.winner);
    this.facts.replaceChildren(...facts(vote));
    const notes = [tally?.fallback ? NO_CONFIDENCES : null, vote.final?.stopped, tally?.withheld_reason].filter(Boolean);
    this.note.hidden = !notes.length;
    say(this.note, notes.join(" "));
    this.#drawReply(vote, another);
    this.actions.hidden = vote.state !== "finished" || !vote.final;
  }

  #drawProbability(tally, winner) {
    const has = winner !== null && tally.calibrated !== false && known(tally.probability);
    this.probable.hidden = !has;
    if (has) {
      say(this.likely, likely(tally.probability));
      this.bar.style.width = `${100 * Math.min(0.99, tally.probability)}%`;
    }
    this.agreeing.hidden = has || winner === null;
    if (this.agreeing.hidden) return;
    const n = tally.votes[tally.answers[0]];
    say(this.agreeing, `${count(n)} of ${counted(tally.n_cast, "answer")} ${n === 1 ? "says" : "say"} so`);
  }

  /** The winning reply; while there is none, one of the replies as it is written. */
  #drawReply(vote, another) {
    const text = vote.withheld ? "" : (vote.final?.reply ?? "");
    const { partial } = vote;
    const grows = !vote.final && vote.running && partial !== null;
    this.whole.hidden = !text && !grows;
    this.copy.hidden = grows;
    this.whole.classList.toggle("grows", grows);
    this.answer.hidden = Boolean(text) && isLong(vote.winner);
    say(this.heading, grows ? `Trajectory ${partial.index + 1}, as it is written` : "The reply");
    if (grows) {
      // Plain text: a formula that is half written can't be drawn.
      const isAtEnd = this.reply.scrollHeight - this.reply.scrollTop - this.reply.clientHeight < 24;
      say(this.reply, partial.text);
      if (isAtEnd || another) this.reply.scrollTop = this.reply.scrollHeight;
      this.text = null;
    } else if (text !== this.text) {
      this.text = text;
      this.reply.replaceChildren(...rendered(text, vote.final?.answer_kind ?? ""));
      this.reply.scrollTop = 0;
      say(this.copy, "Copy");
    }
  }
}

const NO_CONFIDENCES = "Majority voting decided: the model's server gave no log-probabilities, so there are no confidences.";

const isLong = (winner) =>
  winner !== null && (winner.length > HEADLINE || winner.includes("\n") || /^\s*(\{"|\[\s*[{"])/.test(winner));

function rendered(text, kind) {
  if (/^(json|tool)/.test(kind) && /^\s*[[{]/.test(text)) return [codeBlock(indented(text), "json")];
  return markdown(text);
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function label(vote) {
  if (vote.state === "failed") return vote.winner === null ? "No answer" : "The vote when it failed";
  if (vote.state === "stopped") return vote.winner === null ? "Stopped" : "Stopped: the vote so far";
  if (vote.withheld) return "Withheld";
  if (vote.state === "finished" && vote.winner === null) return "Nothing to vote on: the surest reply";
  if (vote.state === "finished") return "The answer";
  return "Leading so far";
}

function answer(vote) {
  if (vote.winner === null) return el("span", { class: "quiet" }, vote.running ? "…" : "none");
  const span = answerSpan(vote.winner, { most: 120 });
  return vote.withheld ? el("span", { class: "quiet" }, el("span", { class: "sr" }, "withheld: "), span) : span;
}

function verdict(vote) {
  const mark = vote.right ? "✓ right" : "✗ wrong";
  return [
    el("span", { class: vote.right ? "right" : "wrong" }, mark),
    ...(!vote.right && vote.truth != null ? [", it is ", answerSpan(vote.truth, { most: 60 })] : []),
  ];
}

function facts(vote) {
  const { tally, final, progress } = vote;
  const rows = [];
  if (tally?.majority != null && tally.method !== "sc" && !tally.fallback) {
    const same = tally.majority === tally.answers[0];
    const mark = vote.majorityRight == null ? "" : vote.majorityRight ? " ✓" : " ✗";
    const tone = vote.majorityRight ? "right" : "wrong";
    const says = same && isLong(tally.majority) ? ["the same"] : [answerSpan(tally.majority, { most: 24 }), same ? " too" : " instead"];
    rows.push(["majority voting says", [...says, mark && el("span", { class: tone }, mark)], !same]);
  }
  if (final?.answer_kind) rows.push(["kind of answer", [`${final.answer_kind}, asked as ${final.template}`]]);
  const n = vote.trajectories.length;
  rows.push([
    "trajectories",
    [vote.budget !== null && n < vote.budget ? `${count(n)} of ${count(vote.budget)}` : count(n)],
  ]);
  const lengths = vote.trajectories.map((each) => each.n_tokens);
  const isUnknown = n > 0 && !lengths.some(known);
  const spent = final?.n_tokens ?? progress?.n_tokens ?? (isUnknown ? null : lengths.reduce((sum, each) => sum + each, 0));
  rows.push(["tokens spent", [count(spent)]]);
  if (final?.n_tokens_saved) rows.push(["tokens saved", [`about ${count(final.n_tokens_saved)}`]]);
  const reflections = final?.n_reflections ?? vote.trajectories.reduce((sum, each) => sum + each.reflections.length, 0);
  if (reflections) rows.push(["reflections", [count(reflections)]]);
  const time = final?.seconds ?? progress?.seconds;
  if (time) rows.push(["time", [seconds(time)]]);
  return rows.map(([name, values, strong]) =>
    el("div", { class: strong ? "differs" : null }, el("dt", {}, name), el("dd", {}, ...values.filter(Boolean))),
  );
}
