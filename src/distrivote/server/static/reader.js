// One trajectory to read: its steps in the colour of their confidence, the threshold, the reflections, the text.

import { el, help, say } from "./dom.js";
import { count, counted, known, viridis } from "./numbers.js";
import { answerSpan, prose } from "./prose.js";
import { stepChart } from "./sparkline.js";
import { FATES } from "./vote.js";

const ENDINGS = { stop: "ended by itself", length: "cut off at the token limit", eos: "ended by itself" };
/** A text node of a megabyte in one line takes browsers seconds; pieces are laid out when they come into view. */
const PIECE = 20_000;

export class Reader {
  constructor() {
    this.title = el("h2", { id: "reader-title", tabindex: "-1" });
    this.facts = el("p", { class: "quiet" });
    this.chart = el("div", { class: "plot" });
    this.text = el("div", { class: "text", role: "document" });
    this.ramp = el("p", { class: "ramp" });
    this.before = el(
      "button",
      { type: "button", class: "plain", "aria-label": "The row above", on: { click: () => this.#go(-1) } },
      "←",
    );
    this.after = el(
      "button",
      { type: "button", class: "plain", "aria-label": "The row below", on: { click: () => this.#go(1) } },
      "→",
    );
    this.element = el(
      "dialog",
      {
        class: "reader",
        "aria-labelledby": "reader-title",
        on: { keydown: (event) => this.#key(event), click: (event) => this.#outside(event) },
      },
      el(
        "div",
        { class: "reader-inner" },
        el(
          "header",
          {},
          this.title,
          el(
            "span",
            { class: "buttons" },
            this.before,
            this.after,
            el(
              "button",
              { type: "button", class: "plain", "aria-label": "Close", on: { click: () => this.element.close() } },
              "✕",
            ),
          ),
        ),
        this.facts,
        this.chart,
        this.ramp,
        this.text,
      ),
    );
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (!entry.contentRect.width || entry.contentRect.width === width) return;
      width = entry.contentRect.width;
      if (this.shown) this.#drawChart();
    }).observe(this.chart);
  }

  /** Show a trajectory of a vote; `neighbours` are those that the arrows lead to, `load` fetches a text that is not there. */
  async open(vote, trajectory, neighbours, load) {
    Object.assign(this, { vote, trajectory, neighbours, load });
    this.shown = trajectory;
    if (!this.element.open) this.element.showModal();
    const at = neighbours.indexOf(trajectory);
    this.before.disabled = at <= 0;
    this.after.disabled = at < 0 || at >= neighbours.length - 1;
    // A disabled button hears no keys, and in some browsers it has lost the focus by now.
    const { activeElement: held } = document;
    if (held.disabled || !this.element.contains(held)) this.title.focus();
    this.title.replaceChildren(
      `Trajectory ${trajectory.index + 1} `,
      el("span", { class: "quiet" }, "answers "),
      answerSpan(trajectory.answer, { most: 60 }),
    );
    say(
      this.facts,
      [
        trajectory.correct == null ? null : trajectory.correct ? "✓ right" : "✗ wrong",
        `confidence ${vote.confidences.write(trajectory.confidence)}`,
        FATES[vote.fate(trajectory)],
        known(trajectory.n_tokens) ? counted(trajectory.n_tokens, "token") : null,
        trajectory.reflections.length ? counted(trajectory.reflections.length, "reflection") : null,
        trajectory.finish_reason ? (ENDINGS[trajectory.finish_reason] ?? trajectory.finish_reason) : null,
        trajectory.server,
      ]
        .filter(Boolean)
        .join(" · "),
    );
    this.#drawChart();
    this.#drawRamp();
    this.element.firstChild.scrollTop = 0;
    if (trajectory.text !== null && trajectory.text !== undefined) return this.#drawText(trajectory);
    this.text.replaceChildren(el("p", { class: "quiet" }, "Loading the text…"));
    try {
      const whole = await load(trajectory);
      if (this.shown === trajectory) this.#drawText({ ...trajectory, ...whole });
    } catch (error) {
      if (this.shown === trajectory) this.text.replaceChildren(el("p", { class: "wrong" }, error.message));
    }
  }

  #drawChart() {
    const has = this.trajectory.step_confidences.some(known);
    this.chart.hidden = !has;
    this.ramp.hidden = !has;
    const width = Math.round(this.chart.clientWidth || 600);
    if (has)
      this.chart.replaceChildren(
        stepChart(this.trajectory, this.vote.stepConfidences, width, (step) => this.#show(step)),
      );
  }

  #drawRamp() {
    const range = this.vote.stepConfidences;
    if (range.empty) return;
    const hasThreshold = this.trajectory.thresholds.some(known);
    this.ramp.replaceChildren(
      el("span", {}, `unsure ${range.write(range.low)}`),
      el("i", { class: "viridis", "aria-hidden": "true" }),
      el("span", {}, `${range.write(range.high)} sure`),
      ...(hasThreshold
        ? [
            el(
              "span",
              {},
              el("i", { class: "dash" }),
              "threshold ",
              help(
                "A step below this line, and less sure than the step before, makes SelfStepConf put in a reflection.",
              ),
            ),
          ]
        : []),
      ...(this.trajectory.reflections.length ? [el("span", {}, el("i", { class: "diamond" }), "reflection")] : []),
    );
  }

  #drawText(trajectory) {
    const { text } = trajectory;
    const ends = trajectory.step_text_ends ?? [];
    const marks = trajectory.reflections.filter(({ text_start: start }) => known(start));
    if (!text) return this.text.replaceChildren(el("p", { class: "quiet" }, "The reply is empty."));
    if (!ends.length)
      return this.text.replaceChildren(el("div", { class: "step whole" }, stepText(text, 0, marks)));
    const steps = ends.map((end, i) => this.#step(trajectory, i, ends[i - 1] ?? 0, end, marks));
    const last = ends.at(-1);
    if (last < text.length)
      steps.push(
        el("div", { class: "step" }, el("span", { class: "chip none" }, "–"), stepText(text.slice(last), last, marks)),
      );
    this.text.replaceChildren(...steps);
  }

  #step(trajectory, i, from, to, marks) {
    const confidence = trajectory.step_confidences[i];
    const threshold = trajectory.thresholds[i];
    const range = this.vote.stepConfidences;
    const chip = el("span", { class: "chip" }, range.write(confidence));
    chip.title = `step ${i + 1}: confidence ${range.write(confidence)}${known(threshold) ? `, threshold ${range.write(threshold)}` : ""}`;
    const text = trajectory.text.slice(from, to);
    const step = el("div", { class: "step", id: `step-${i}` }, chip, stepText(text.trimEnd(), from, marks));
    if (known(confidence)) {
      const { colour, ink } = viridis(range.place(confidence));
      chip.style.background = colour;
      chip.style.color = ink;
      step.style.setProperty("--shade", colour);
    } else chip.classList.add("none");
    if (known(threshold) && known(confidence) && confidence < threshold) step.classList.add("low");
    return step;
  }

  #show(step) {
    this.text.querySelector(`#step-${step}`)?.scrollIntoView({ block: "center" });
  }

  #go(by) {
    const next = this.neighbours[this.neighbours.indexOf(this.trajectory) + by];
    if (next) this.open(this.vote, next, this.neighbours, this.load);
  }

  #key(event) {
    if (event.key === "ArrowLeft") this.#go(-1);
    else if (event.key === "ArrowRight") this.#go(1);
  }

  #outside(event) {
    if (event.target === this.element) this.element.close();
  }
}

/** A part of the text that begins at `from`, its reflections marked. */
function stepText(text, from, marks) {
  const nodes = [];
  let at = 0;
  for (const { text_start: start, text_end: end } of marks) {
    if (start < from || start >= from + text.length) continue;
    nodes.push(...plain(text.slice(at, start - from)));
    nodes.push(
      el(
        "mark",
        { class: "reflected", dir: "auto", title: "put in by SelfStepConf" },
        el("span", { class: "sr" }, "reflection: "),
        text.slice(start - from, end - from),
      ),
    );
    at = end - from;
  }
  nodes.push(...plain(text.slice(at)));
  return el("div", { class: "step-text", dir: "auto" }, ...nodes);
}

function plain(text) {
  if (text.length <= PIECE) return prose(text);
  const parts = [];
  for (let at = 0; at < text.length;) {
    // A character of two units stays whole.
    const end = at + PIECE + (/[\ud800-\udbff]/.test(text[at + PIECE - 1] ?? "") ? 1 : 0);
    parts.push(el("span", { class: "piece", dir: "auto" }, text.slice(at, end)));
    at = end;
  }
  return [el("p", { class: "quiet" }, `${count(text.length)} characters`), ...parts];
}
