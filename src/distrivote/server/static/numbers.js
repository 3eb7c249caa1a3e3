// How numbers are written and where they lie: confidences with one decimal, shares as percent without decimals.

const GROUPED = new Intl.NumberFormat("en");

export const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (n) => (known(n) ? GROUPED.format(n) : "–");

export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

export const percent = (share) => (known(share) ? `${Math.round(100 * share)}%` : "–");

/** A probability: nothing is certain, so it never says 0% or 100%. */
export function likely(probability) {
  if (probability > 0.99) return "> 99%";
  return probability < 0.01 ? "< 1%" : percent(probability);
}

export function seconds(s) {
  const tenths = Math.round(10 * s);
  if (tenths < 900) return `${(tenths / 10).toFixed(1)} s`;
  const whole = Math.round(s);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Long answers in one line, with an ellipsis. */
export function shortened(text, most = 48) {
  const line = String(text)
    .slice(0, 4 * most)
    .replace(/\s+/g, " ")
    .trim();
  const letters = [...line];
  return letters.length > most || line.length < String(text).trim().length - most
    ? `${letters.slice(0, most - 1).join("")}…`
    : line;
}

/**
 * The range that all confidences of a question are drawn on. It only grows, and by whole steps, so that the
 * axes stay where they are while trajectories come in.
 */
export class Range {
  constructor() {
    this.low = this.high = null;
    this.ticks = [];
  }

  get empty() {
    return this.low === null;
  }

  /** Take values in; says whether the range changed. */
  take(values) {
    const usable = values.filter(known);
    if (!usable.length) return false;
    // The steps of a large run are more values than a call takes arguments.
    const least = usable.reduce((a, b) => Math.min(a, b));
    const most = usable.reduce((a, b) => Math.max(a, b));
    if (!this.empty && least >= this.low && most <= this.high) return false;
    const low = this.empty ? least : Math.min(least, this.low);
    const high = this.empty ? most : Math.max(most, this.high);
    // The first one says little about the rest: leave them room. Later only the side that was too short grows.
    const room =
      this.empty && usable.length === 1 ? 0.2 * Math.abs(high) || 1 : 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
    const below = this.empty || least < this.low ? Math.max(low >= 0 ? 0 : -Infinity, low - room) : low;
    const above = this.empty || most > this.high ? high + room : high;
    const fine = niceStep(above - below, 20);
    this.low = Math.floor(below / fine + 1e-9) * fine;
    this.high = Math.ceil(above / fine - 1e-9) * fine;
    const step = niceStep(this.high - this.low, 4);
    const first = Math.ceil(this.low / step - 1e-9);
    const last = Math.floor(this.high / step + 1e-9);
    this.ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
    this.decimals = Math.max(1, Math.min(6, 1 - Math.floor(Math.log10(this.high - this.low))));
    this.tickDecimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
    return true;
  }

  /** From 0 at the low end to 1 at the high end. */
  place(value) {
    return (value - this.low) / (this.high - this.low);
  }

  /** A confidence in words of this range: one decimal, more where the whole range is small. */
  write(value) {
    if (!known(value)) return "–";
    return value.toFixed(this.decimals ?? 1);
  }

  writeTick(value) {
    return value.toFixed(this.tickDecimals ?? 0);
  }
}

function niceStep(spread, about) {
  const raw = spread / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw);
}

// Viridis, dark to light: lower confidence is darker.
const RAMP = [
  [68, 1, 84],
  [70, 50, 126],
  [54, 92, 141],
  [39, 127, 142],
  [31, 161, 135],
  [74, 193, 109],
  [160, 218, 57],
  [253, 231, 37],
];

/** The colour of a place between 0 and 1, and the ink that can be read on it. */
export function viridis(place) {
  const at = Math.max(0, Math.min(1, place)) * (RAMP.length - 1);
  const [from, to] = [RAMP[Math.floor(at)], RAMP[Math.ceil(at)]];
  const rgb = from.map((value, i) => Math.round(value + (to[i] - value) * (at % 1)));
  return { colour: `rgb(${rgb.join(" ")})`, ink: place > 0.55 ? "#000" : "#fff" };
}
