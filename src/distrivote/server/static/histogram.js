// The confidences of a question: how many lie where, the two Gaussians that explain them, and the cut between.
//
// Axes only grow. Bars, curves and the cut glide to their new places.

import { el, help, say, set, svg } from "./dom.js";
import { Glide } from "./motion.js";
import { count, known } from "./numbers.js";

const HEIGHT = 196;
const PAD = { left: 28, right: 8, top: 22, bottom: 26 };
const N_BINS = 28;
const N_POINTS = 120;

let nDrawn = 0;

export class Histogram {
  constructor() {
    this.wrong = el("b", {}, "0");
    this.right = el("b", {}, "0");
    this.rightWords = el("span");
    this.none = el("span", { class: "quiet" });
    this.drawing = svg("svg", { class: "histogram", role: "img" });
    this.place = el("div", { class: "plot" }, this.drawing);
    this.sides = el(
      "p",
      { class: "sides" },
      el("span", {}, el("i", { class: "swatch aside" }), "likely wrong ", this.wrong),
      el("span", {}, el("i", { class: "swatch kept" }), this.rightWords, " ", this.right),
    );
    this.element = el(
      "section",
      { class: "panel", "aria-label": "Confidences" },
      el(
        "h2",
        {},
        "How sure was it each time? ",
        help(
          "Confidence says how clearly the model preferred each word it wrote in the step with its answer. Higher means surer. Two bell curves are fitted to the values; between them lies the cut.",
        ),
      ),
      this.sides,
      this.place,
      el("p", { class: "ends" }, el("span", {}, "less sure"), this.none, el("span", {}, "surer")),
    );
    this.name = `histogram${nDrawn++}`;
    this.most = 4;
    this.width = 0;
    this.glide = new Glide((values) => this.#drawFit(values));
    new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (!width || width === this.width) return;
      this.width = width;
      if (this.vote) this.#frame();
    }).observe(this.place);
  }

  update(vote) {
    const { tally, confidences: range } = vote;
    const isNew = this.vote !== vote;
    if (isNew) this.glide.to(null);
    this.vote = vote;
    if (isNew) this.most = Math.max(4, Math.ceil((vote.budget ?? vote.trajectories.length) / 8));
    const key = `${range.low} ${range.high}`;
    if (this.#grow(vote) || isNew || key !== this.key) {
      this.key = key;
      this.#frame();
    } else this.#drawBars();
    this.glide.to(this.#fit());
    const split = tally?.first_split;
    this.element.classList.toggle("unsplit", vote.cut === null);
    say(this.rightWords, vote.cut === null ? "answers" : "likely right");
    say(this.wrong, count(split?.n_negative ?? 0));
    say(this.right, count(split?.n_positive ?? tally?.n_cast ?? 0));
    say(this.none, tally?.n_unanswered ? `${count(tally.n_unanswered)} without an answer` : "");
  }

  #bins() {
    const range = this.vote.confidences;
    const bins = Array.from({ length: N_BINS }, () => ({ aside: 0, kept: 0 }));
    for (const { confidence, likely_right: right } of this.vote.tally?.ballot ?? []) {
      if (!known(confidence)) continue;
      const bin = bins[Math.max(0, Math.min(N_BINS - 1, Math.floor(range.place(confidence) * N_BINS)))];
      bin[right === false ? "aside" : "kept"] += 1;
    }
    return bins;
  }

  #grow() {
    const tallest = Math.max(...this.#bins().map(({ aside, kept }) => aside + kept));
    const peak = Math.min(1.5 * tallest, 1.05 * this.#peak());
    const needed = Math.max(tallest, peak);
    if (needed <= this.most) return false;
    this.most =
      [4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 160, 200, 256, 320, 400].find((n) => n >= needed) ??
      needed;
    return true;
  }

  #peak() {
    const fit = this.#fit();
    if (fit === null) return 0;
    return Math.max(...[0, 1].map((i) => curve(fit, i)?.(fit[`mean${i}`]) ?? 0));
  }

  /** The numbers that glide: two Gaussians in counts per bin, and the cut. */
  #fit() {
    const split = this.vote.tally?.first_split;
    const range = this.vote.confidences;
    if (!split || range.empty) return null;
    const { weights, means, sds } = split;
    const scale = ((split.n_positive + split.n_negative) * (range.high - range.low)) / N_BINS;
    const high = (i) => weights && (scale * weights[i]) / sds[i];
    return {
      cut: split.cut,
      mean0: means?.[0],
      sd0: sds?.[0],
      high0: high(0),
      mean1: means?.[1],
      sd1: sds?.[1],
      high1: high(1),
    };
  }

  #x(value) {
    return PAD.left + this.vote.confidences.place(value) * (this.width - PAD.left - PAD.right);
  }

  #y(n) {
    return HEIGHT - PAD.bottom - (n / this.most) * (HEIGHT - PAD.top - PAD.bottom);
  }

  /** Draw everything anew: the size or the axes changed. */
  #frame() {
    if (!this.width) return;
    const range = this.vote.confidences;
    const base = HEIGHT - PAD.bottom;
    set(this.drawing, { viewBox: `0 0 ${this.width} ${HEIGHT}`, width: this.width, height: HEIGHT });
    const hatch = svg(
      "pattern",
      { id: `${this.name}-hatch`, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "hatch-ground", width: 5, height: 5 }),
      svg("rect", { class: "hatch-line", width: 2, height: 5 }),
    );
    const clip = svg(
      "clipPath",
      { id: `${this.name}-plot` },
      svg("rect", {
        x: PAD.left,
        y: PAD.top,
        width: Math.max(0, this.width - PAD.left - PAD.right),
        height: base - PAD.top,
      }),
    );
    const rules = [this.most / 2, this.most]
      .filter(Number.isInteger)
      .flatMap((n) => [
        svg("line", { class: "grid", x1: PAD.left, x2: this.width - PAD.right, y1: this.#y(n), y2: this.#y(n) }),
        svg("text", { class: "tick", x: PAD.left - 8, y: this.#y(n) + 4, "text-anchor": "end" }, count(n)),
      ]);
    const every = this.width < 360 && range.ticks.length > 5 ? 2 : 1;
    const ticks = range.ticks
      .filter((_, i) => i % every === 0)
      .map((value) =>
        svg(
          "text",
          { class: "tick", x: this.#x(value), y: HEIGHT - 8, "text-anchor": "middle" },
          range.writeTick(value),
        ),
      );
    this.bars = Array.from({ length: N_BINS }, () => ({
      aside: svg("rect", { class: "bar", fill: `url(#${this.name}-hatch)` }),
      kept: svg("rect", { class: "bar kept" }),
    }));
    this.curves = [svg("path", { class: "curve aside" }), svg("path", { class: "curve kept" })];
    this.cut = svg("line", { class: "cut", y1: PAD.top - 4, y2: base });
    this.cutLabel = svg("text", { class: "cut-label", y: 12, "text-anchor": "middle" });
    this.drawing.replaceChildren(
      svg("defs", {}, hatch, clip),
      ...rules,
      ...ticks,
      svg("line", { class: "axis", x1: PAD.left, x2: this.width - PAD.right, y1: base + 0.5, y2: base + 0.5 }),
      ...this.bars.flatMap(({ aside, kept }) => [aside, kept]),
      svg("g", { "clip-path": `url(#${this.name}-plot)` }, ...this.curves),
      this.cut,
      this.cutLabel,
    );
    this.#drawBars();
    this.glide.again();
  }

  #drawBars() {
    if (!this.bars) return;
    const wide = (this.width - PAD.left - PAD.right) / N_BINS;
    this.#bins().forEach(({ aside, kept }, i) => {
      const x = PAD.left + i * wide + 0.5;
      const width = Math.max(1, wide - 1);
      set(this.bars[i].aside, { x, width, y: this.#y(aside), height: this.#y(0) - this.#y(aside) });
      set(this.bars[i].kept, { x, width, y: this.#y(aside + kept), height: this.#y(0) - this.#y(kept) });
    });
    const split = this.vote.tally?.first_split;
    this.drawing.setAttribute(
      "aria-label",
      known(split?.cut)
        ? `Histogram of confidences: ${split.n_negative} likely wrong below the cut at ${this.vote.confidences.write(split.cut)}, ${split.n_positive} likely right above it`
        : "Histogram of confidences",
    );
  }

  #drawFit(fit) {
    if (!this.curves) return;
    const range = this.vote.confidences;
    this.curves.forEach((path, i) => path.setAttribute("d", fit === null ? "" : this.#path(curve(fit, i))));
    const cut = fit !== null && known(fit.cut) ? fit.cut : null;
    for (const part of [this.cut, this.cutLabel]) part.classList.toggle("absent", cut === null);
    if (cut === null) return;
    set(this.cut, { x1: this.#x(cut), x2: this.#x(cut) });
    this.cutLabel.setAttribute("x", Math.max(32, Math.min(this.width - 32, this.#x(cut))));
    this.cutLabel.textContent = `cut ${range.write(cut)}`;
  }

  #path(density) {
    if (density === null) return "";
    const { low, high } = this.vote.confidences;
    let path = "";
    let pen = "M";
    for (let i = 0; i <= N_POINTS; i += 1) {
      const value = low + ((high - low) * i) / N_POINTS;
      // Where it is as good as nothing, the axis is enough.
      if (density(value) < 0.004 * this.most) {
        pen = "M";
        continue;
      }
      // A spike far above the axis must not make numbers that no browser draws.
      path += `${pen}${this.#x(value).toFixed(1)} ${Math.max(-1000, this.#y(density(value))).toFixed(1)}`;
      pen = "L";
    }
    return path;
  }
}

function curve(fit, i) {
  const [mean, sd, high] = [fit[`mean${i}`], fit[`sd${i}`], fit[`high${i}`]];
  if (![mean, sd, high].every(known) || sd <= 0) return null;
  return (value) => (high / Math.sqrt(2 * Math.PI)) * Math.exp(-0.5 * ((value - mean) / sd) ** 2);
}
