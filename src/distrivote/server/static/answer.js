// The answer as a card: what was chosen, how clearly, what a plain majority would have said, and at what cost.

import { el, help, say } from "./dom.js";
import { count, known, percent, seconds } from "./numbers.js";
import { answerSpan, prose } from "./prose.js";

export class AnswerCard {
  constructor() {
    this.label = el("h2", { class: "eyebrow" });
    this.answer = el("p", { class: "answer", "aria-live": "polite" });
    this.verdict = el("p", { class: "verdict" });
    this.share = el("b");
    this.bar = el("i", { class: "fill kept" });
    this.scored = el(
      "p",
      { class: "scored" },
      el(
        "span",
        {},
        this.share,
        " of the score ",
        help("How much of the final vote's weight the answer got. It is not the probability that it is right."),
      ),
      el("span", { class: "track", "aria-hidden": "true" }, this.bar),
    );
    this.facts = el("dl", { class: "facts" });
    this.note = el("p", { class: "note" });
    this.reply = el("div", { class: "reply-text", dir: "auto", tabindex: "0" });
    this.copy = el("button", { type: "button", class: "plain" }, "Copy");
    this.copy.addEventListener("click", () => this.#copied());
    this.whole = el("section", { class: "reply", "aria-label": "Reply" }, el("h3", {}, "The reply"), this.copy, this.reply);
    this.element = el(
      "section",
      { class: "card", "aria-label": "Answer" },
      this.label,
      this.answer,
      this.verdict,
      this.scored,
      this.facts,
      this.note,
      this.whole,
    );
  }

  async #copied() {
    try {
      await navigator.clipboard.writeText(this.text ?? "");
      say(this.copy, "Copied");
    } catch {
      getSelection()?.selectAllChildren(this.reply); // without leave to copy, it is at least selected
    }
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
    this.vote = vote;
    this.verdict.hidden = vote.right === null || vote.right === undefined;
    if (!this.verdict.hidden) this.verdict.replaceChildren(...verdict(vote));
    this.scored.hidden = vote.winner === null;
    say(this.share, percent(tally?.share));
    this.bar.style.width = `${100 * (tally?.share ?? 0)}%`;
    this.facts.replaceChildren(...facts(vote));
    const notes = [vote.final?.stopped, tally?.withheld_reason].filter(Boolean);
    this.note.hidden = !notes.length;
    say(this.note, notes.join(" "));
    const text = vote.withheld ? "" : (vote.final?.reply ?? "");
    this.whole.hidden = !text;
    if (text !== this.text) {
      this.text = text;
      this.reply.replaceChildren(...prose(text));
      say(this.copy, "Copy");
    }
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
    const same = tally.majority === vote.winner;
    const mark = vote.majorityRight == null ? "" : vote.majorityRight ? " ✓" : " ✗";
    const tone = vote.majorityRight ? "right" : "wrong";
    rows.push([
      "majority voting says",
      [answerSpan(tally.majority, { most: 24 }), same ? " too" : " instead", mark && el("span", { class: tone }, mark)],
      !same,
    ]);
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
