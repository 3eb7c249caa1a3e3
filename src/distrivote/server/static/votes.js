// Votes per answer at every stage: all of them, those above the cut, those after the rejection, and the score.

import { el, help, say } from "./dom.js";
import { count, percent } from "./numbers.js";
import { answerSpan } from "./prose.js";

const MOST = 8;

const STAGES = [
  ["all", "all", "Every trajectory that gave this answer: solid above the cut, hatched below it."],
  ["kept", "kept", "Stage I: those above the cut, where the model was likely right."],
  [
    "after_reject",
    "after reject",
    "Stage II: the answer that the likely wrong side prefers is taken out, and the rest is cut again.",
  ],
  [
    "share",
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
    const answers = vote.tally?.answers ?? [];
    const shown = this.all ? answers : few(answers);
    const most = Math.max(1, ...answers.map(({ all }) => all));
    const keys = new Set(shown.map(({ answer }) => answer));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    shown.forEach((each, place) => {
      if (!this.rows.has(each.answer)) this.rows.set(each.answer, new Row(each.answer));
      const row = this.rows.get(each.answer);
      row.update(each, most, vote);
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
function few(answers) {
  if (answers.length <= MOST + 1) return answers;
  const shown = answers.slice(0, MOST);
  const rejected = answers.find((each) => each.rejected);
  if (rejected && !shown.includes(rejected)) shown[MOST - 1] = rejected;
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

  update(each, most, vote) {
    if (this.rejected !== each.rejected) {
      this.rejected = each.rejected;
      this.name.replaceChildren(answerSpan(this.answer, { rejected: each.rejected, most: 28 }));
    }
    this.element.classList.toggle("chosen", each.answer === vote.answer);
    this.element.classList.toggle("rejected", each.rejected);
    for (const cell of this.cells) cell.update(each, most);
  }
}

class Cell {
  constructor(key) {
    this.key = key;
    this.number = el("span", { class: "n" });
    this.bar = el("i", { class: "fill kept" });
    this.rest = el("i", { class: "fill aside" });
    this.element = el(
      "td",
      { class: key },
      this.number,
      el("span", { class: "track", "aria-hidden": "true" }, this.bar, this.rest),
    );
  }

  update(each, most) {
    const gone = each.rejected && this.key !== "all" && this.key !== "kept";
    const value = each[this.key];
    say(
      this.number,
      gone ? (this.key === "share" ? "" : "rejected") : this.key === "share" ? percent(value) : count(value),
    );
    this.element.classList.toggle("gone", gone);
    const solid = this.key === "share" ? value : (this.key === "all" ? Math.min(each.kept, each.all) : value) / most;
    this.bar.style.width = `${100 * (gone ? 0 : solid)}%`;
    this.rest.style.width = `${this.key === "all" ? (100 * (each.all - Math.min(each.kept, each.all))) / most : 0}%`;
  }
}
