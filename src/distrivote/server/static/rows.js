// Trajectories as rows, newest on top: answer, confidence, the place on the common scale, the steps, the tokens.

import { el, help, say } from "./dom.js";
import { moves } from "./motion.js";
import { count, counted, known } from "./numbers.js";
import { answerSpan } from "./prose.js";
import { sparkline } from "./sparkline.js";
import { FATES } from "./vote.js";

const ORDERS = {
  newest: ["newest first", null],
  number: ["by number", (a, b) => a.index - b.index],
  surest: ["surest first", (a, b) => (b.confidence ?? -Infinity) - (a.confidence ?? -Infinity)],
  answer: [
    "by answer",
    (a, b) => String(a.answer ?? "\uffff").localeCompare(String(b.answer ?? "\uffff"), undefined, { numeric: true }),
  ],
  longest: ["longest first", (a, b) => b.n_tokens - a.n_tokens],
};

export class Rows {
  /** `open` is called with the trajectory whose row was pressed; `order` is how they stand at first. */
  constructor(open, order) {
    this.open = open;
    this.rows = new Map();
    this.nSeen = 0;
    this.list = el("ol", { class: "rows", on: { keydown: (event) => this.#walk(event) } });
    this.number = el("span", { class: "quiet" });
    this.order = el(
      "select",
      { "aria-label": "Order of the trajectories", on: { change: () => this.#arrange() } },
      ...Object.entries(ORDERS).map(([value, [name]]) => el("option", { value }, name)),
    );
    this.order.value = order;
    this.axis = el("span", { class: "axis-ends" });
    this.vacant = el("p", { class: "vacancy" });
    this.sides = [
      el("span", {}, el("i", { class: "dot kept" }), "likely right"),
      el("span", {}, el("i", { class: "dot aside" }), "likely wrong"),
    ];
    this.element = el(
      "section",
      { class: "panel trajectories", "aria-label": "Trajectories" },
      el(
        "header",
        {},
        el(
          "h2",
          {},
          "Trajectories ",
          this.number,
          " ",
          help(
            "Each one is a complete attempt of the model at the question. They differ because words are drawn at random. Press a row to read it.",
          ),
        ),
        this.order,
      ),
      el(
        "p",
        { class: "legend" },
        ...this.sides,
        el("span", {}, el("i", { class: "dash" }), "threshold"),
        el("span", {}, el("i", { class: "diamond" }), "reflection "),
        help(
          "SelfStepConf watches the confidence of each step. When it falls below the threshold, the word “wait” is put into the text, and the model thinks again.",
        ),
      ),
      el(
        "div",
        { class: "row heads", "aria-hidden": "true" },
        el("span", {}, "#"),
        el("span", {}, "answer"),
        el("span", { class: "n over" }, "confidence"),
        this.axis,
        el("span", { class: "stepwise" }, "step by step"),
        el("span", { class: "n" }, "tokens"),
      ),
      this.list,
      this.vacant,
    );
  }

  update(vote) {
    if (this.vote !== vote) {
      this.rows.clear();
      this.list.replaceChildren();
      this.nSeen = 0;
      this.scale = "";
    }
    this.vote = vote;
    const { confidences: range, stepConfidences: steps } = vote;
    const scale = `${range.low} ${range.high} ${steps.low} ${steps.high}`;
    const first = this.nSeen === 0;
    for (const trajectory of vote.trajectories.slice(this.nSeen)) {
      const row = new Row(trajectory, () => this.open(trajectory));
      this.rows.set(trajectory.index, row);
      row.draw(vote);
      if (!first && vote.running && moves()) row.element.classList.add("fresh");
      this.list.append(row.element);
    }
    const grew = this.nSeen !== vote.trajectories.length;
    this.nSeen = vote.trajectories.length;
    if (scale !== this.scale) {
      this.scale = scale;
      for (const row of this.rows.values()) row.draw(vote);
      this.axis.replaceChildren(
        ...(range.empty ? [] : [el("span", {}, range.write(range.low)), el("span", {}, range.write(range.high))]),
      );
    }
    for (const row of this.rows.values()) row.mark(vote);
    const { cut } = vote;
    for (const side of this.sides) side.hidden = vote.tally !== null && cut === null;
    this.list.classList.toggle("uncut", cut === null || range.empty);
    if (cut !== null && !range.empty) this.list.style.setProperty("--cut", `${(100 * range.place(cut)).toFixed(2)}%`);
    if (grew) this.#arrange();
    say(
      this.number,
      vote.budget !== null && vote.running ? `${count(this.nSeen)} of ${count(vote.budget)}` : count(this.nSeen),
    );
    this.vacant.hidden = this.nSeen > 0;
    say(this.vacant, vacancy(vote));
    this.element.classList.toggle("vacant", this.nSeen === 0);
  }

  /** The trajectories as they stand, from top to bottom. */
  inOrder() {
    return [...this.list.children].map((row) => this.rows.get(Number(row.dataset.index)).trajectory);
  }

  #arrange() {
    const compare = ORDERS[this.order.value][1];
    const newest = [...this.rows.values()].reverse();
    const ordered = compare === null ? newest : newest.sort((a, b) => compare(a.trajectory, b.trajectory));
    // Only what is out of place moves: a row that is taken out and put back loses the focus.
    ordered.forEach(({ element }, place) => {
      if (this.list.children[place] !== element) this.list.insertBefore(element, this.list.children[place]);
    });
    this.#reachable();
  }

  /** Tab reaches one row; arrows go on from there. */
  #reachable() {
    const buttons = [...this.list.querySelectorAll("button")];
    const current = buttons.find((button) => button === document.activeElement) ?? buttons[0];
    for (const button of buttons) button.tabIndex = button === current ? 0 : -1;
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    const buttons = [...this.list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    const next = buttons[Math.max(0, Math.min(buttons.length - 1, at + step))];
    next.tabIndex = 0;
    next.focus();
  }
}

function vacancy(vote) {
  if (vote.state === "queued")
    return vote.nBefore === 1 ? "One question is before yours." : `${vote.nBefore} questions are before yours.`;
  if (vote.state === "failed") return "No trajectory was finished.";
  if (vote.state === "stopped") return "Stopped before a trajectory was finished.";
  const live = vote.progress?.n_live;
  return live ? `${count(live)} under way, none finished yet.` : "Waiting for the first one.";
}

class Row {
  constructor(trajectory, open) {
    this.trajectory = trajectory;
    this.answer = el("span", { class: "given" });
    this.number = el("span", { class: "n confidence" });
    this.dot = el("i", { class: "dot" });
    this.scale = el("span", { class: "scale" }, el("i", { class: "cut-tick" }), this.dot);
    this.steps = el("span", { class: "stepwise" });
    this.button = el(
      "button",
      { type: "button", class: "row", on: { click: open } },
      el("span", { class: "index" }, String(trajectory.index + 1)),
      this.answer,
      this.number,
      this.scale,
      this.steps,
      el("span", { class: "n tokens" }, count(trajectory.n_tokens)),
    );
    this.element = el("li", { "data-index": trajectory.index }, this.button);
  }

  /** What depends on the scale. */
  draw(vote) {
    const { confidence } = this.trajectory;
    const range = vote.confidences;
    say(this.number, range.write(confidence));
    this.dot.hidden = !known(confidence) || range.empty;
    if (!this.dot.hidden) this.dot.style.left = `${(100 * range.place(confidence)).toFixed(2)}%`;
    this.steps.replaceChildren(sparkline(this.trajectory, vote.stepConfidences));
  }

  /** What depends on the vote. */
  mark(vote) {
    const fate = vote.fate(this.trajectory);
    const chosen = vote.answer !== null && vote.placed.get(this.trajectory.index)?.answer === vote.answer;
    const key = `${fate} ${chosen}`;
    if (this.key === key) return;
    this.key = key;
    this.element.dataset.fate = fate;
    this.dot.className = `dot ${fate}`;
    const { answer, correct: right, index, confidence, n_tokens: n, reflections } = this.trajectory;
    const mark =
      right == null
        ? null
        : el("span", { class: right ? "right" : "wrong", title: right ? "right" : "wrong" }, right ? "✓ " : "✗ ");
    const span = answerSpan(answer, { rejected: fate === "rejected", most: 24 });
    if (chosen) span.classList.add("chosen");
    this.answer.replaceChildren(...(mark ? [mark] : []), span);
    this.button.setAttribute(
      "aria-label",
      `Trajectory ${index + 1}: ${answer === null ? "no answer" : `answer ${String(answer).slice(0, 200)}`}` +
        `${right == null ? "" : right ? ", right" : ", wrong"}, confidence ${vote.confidences.write(confidence)}, ${FATES[fate]}, ` +
        `${known(n) ? `${counted(n, "token")}, ` : ""}${counted(reflections.length, "reflection")}`,
    );
    this.button.title = FATES[fate];
  }
}
