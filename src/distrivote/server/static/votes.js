// Votes per answer at every stage: all of them, those above the cut, those after the rejection, and the score.

import { el, help, say } from "./dom.js";
import { count, percent } from "./numbers.js";
import { answerSpan } from "./prose.js";

const MOST = 8;

const STAGES = [
  ["votes", "all", "Every trajectory that gave this answer: solid above the cut, hatched below it."],
  ["likely_right_votes", "kept", "Stage I: those above the cut, where the model was likely right."],
  [
    "kept_votes",
    "after reject",
    "Stage II: the answer that the likely wrong side prefers is taken out, and the rest is cut again.",
  ],
  [
    "shares",
    "score",
    "Stage III: the kept ones vote, interval by interval of confidence. This is each answer's share of the score, not a probability.",
  ],
];

export class Votes {
  constructor() {
    this.rows = new Map();
    this.body = el("tbody");
    this.all = false;
    this.more = el("button", { type: "button", class: "link", hidden: true, on: { click: () => this.#toggle() } });
    const heads = STAGES.map(([, name, words]) => el("th", { scope: "col" }, name, " ", help(words)));
    this.element = el(
      "section",
      { class: "panel", "aria-label": "Votes" },
      el("h2", {}, "Which answers survive?"),
      el(
        "table",
        { class: "votes" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "answer"), ...heads)),
        this.body,
      ),
      this.more,
    );
  }

  #toggle() {
    this.all = !this.all;
    this.update(this.vote);
  }

  update(vote) {
    if (this.vote !== vote) {
      this.rows.clear();
      this.body.replaceChildren();
      this.all = false;
    }
    this.vote = vote;
    const { tally } = vote;
    const answers = tally?.answers ?? [];
    const shown = this.all ? answers : few(answers, tally?.rejected ?? null);
    const most = Math.max(1, ...answers.map((answer) => tally.votes[answer]));
    const keys = new Set(shown);
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    shown.forEach((answer, place) => {
      if (!this.rows.has(answer)) this.rows.set(answer, new Row(answer));
      const row = this.rows.get(answer);
      row.update(vote, most);
      if (this.body.children[place] !== row.element)
        this.body.insertBefore(row.element, this.body.children[place] ?? null);
    });
    const hidden = answers.length - shown.length;
    this.more.hidden = !hidden && !this.all;
    say(this.more, this.all ? "show fewer" : `…${count(hidden)} more`);
    this.element.classList.toggle("vacant", answers.length === 0);
  }
}

/** The first answers, the rejected one always among them. */
function few(answers, rejected) {
  if (answers.length <= MOST + 1) return answers;
  const shown = answers.slice(0, MOST);
  if (rejected !== null && !shown.includes(rejected)) shown[MOST - 1] = rejected;
  return shown;
}

class Row {
  constructor(answer) {
    this.name = el("th", { scope: "row" });
    this.cells = STAGES.map(([key]) => new Cell(key));
    this.answer = answer;
    this.rejected = null;
    this.element = el("tr", {}, this.name, ...this.cells.map((cell) => cell.element));
  }

  update(vote, most) {
    const rejected = this.answer === vote.tally.rejected;
    if (this.rejected !== rejected) {
      this.rejected = rejected;
      this.name.replaceChildren(answerSpan(this.answer, { rejected, most: 28 }));
    }
    this.element.classList.toggle("chosen", this.answer === vote.answer);
    this.element.classList.toggle("rejected", rejected);
    for (const cell of this.cells) cell.update(vote.tally, this.answer, most);
  }
}

class Cell {
  constructor(key) {
    this.key = key;
    this.isShare = key === "shares";
    this.number = el("span", { class: "n" });
    this.bar = el("i", { class: "fill kept" });
    this.rest = el("i", { class: "fill aside" });
    this.element = el(
      "td",
      { class: this.isShare ? "share" : null },
      this.number,
      el("span", { class: "track", "aria-hidden": "true" }, this.bar, this.rest),
    );
  }

  update(tally, answer, most) {
    const gone = answer === tally.rejected && (this.key === "kept_votes" || this.isShare);
    const value = tally[this.key][answer];
    say(this.number, gone ? (this.isShare ? "" : "rejected") : this.isShare ? percent(value) : count(value));
    this.element.classList.toggle("gone", gone);
    const above = this.key === "votes" ? tally.likely_right_votes[answer] : value;
    this.bar.style.width = `${100 * (gone ? 0 : this.isShare ? value : above / most)}%`;
    this.rest.style.width = `${this.isShare ? 0 : (100 * (value - above)) / most}%`;
  }
}
