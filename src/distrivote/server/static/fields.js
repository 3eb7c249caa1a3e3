// The vote on each field of a JSON answer: the value that was elected, its share, and the one that came second.

import { el } from "./dom.js";
import { count, known, percent, shortened } from "./numbers.js";

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

export class Fields {
  constructor() {
    this.body = el("tbody");
    const heads = ["field", "value", "votes", "score", "next"].map((name) => el("th", { scope: "col" }, name));
    this.element = el(
      "section",
      { class: "panel", "aria-label": "Fields", hidden: true },
      el("h2", {}, "How sure is each field?"),
      el(
        "div",
        { class: "scroll", tabindex: "0" },
        el("table", { class: "plain-table" }, el("thead", {}, el("tr", {}, ...heads)), this.body),
      ),
    );
  }

  update(vote) {
    const fields = vote.final?.fields ?? null;
    this.element.hidden = fields === null || !fields.length;
    if (this.fields === fields) return;
    this.fields = fields;
    this.body.replaceChildren(...(fields ?? []).map(row));
  }
}

function row(field) {
  const next = field.runner_up ?? null;
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, field.path || "(all)"),
    cell(field.value, "chosen"),
    el("td", { class: "n" }, `${count(field.votes)} of ${count(field.n)}`),
    el("td", { class: "n" }, known(field.share) ? percent(field.share) : ""),
    next === null ? el("td") : cell(next.value, "quiet", ` (${count(next.votes)})`),
  );
}

function cell(value, kind, after = "") {
  const whole = written(value);
  const shown = shortened(whole, 60);
  return el("td", { class: kind, dir: "auto", title: shown === whole ? null : whole.slice(0, 2000) }, shown + after);
}
