// What the table of a stored run is made of: columns, filters, rows, the order of rows, accuracies.

import { el } from "./dom.js";
import { count, percent } from "./numbers.js";
import { answerSpan } from "./prose.js";

export const COLUMNS = [
  { key: "correct", name: "", words: "right or wrong" },
  { key: "question_id", name: "question" },
  { key: "answer", name: "answer" },
  { key: "ground_truth", name: "truth" },
  { key: "share", name: "score", numeric: true },
  { key: "majority", name: "majority" },
  { key: "n_right", name: "trajectories right", numeric: true },
  { key: "n_tokens", name: "tokens", numeric: true },
];

export const FILTERS = {
  all: ["all questions", () => true],
  right: ["right", (row) => row.correct === true],
  wrong: ["wrong", (row) => row.correct === false],
  gained: ["right, majority wrong", (row) => row.correct === true && row.majority_correct === false],
  lost: ["wrong, majority right", (row) => row.correct === false && row.majority_correct === true],
  differs: ["differs from the majority", (row) => row.answer !== row.majority],
  rejected: ["an answer was rejected", (row) => row.rejected !== null],
  none: ["no answer", (row) => row.answer === null],
};

/** A question as a row of the table. */
export function line(row) {
  const mark = row.correct === null ? "" : row.correct ? "✓" : "✗";
  const beside = row.majority_correct === null ? "" : row.majority_correct ? " ✓" : " ✗";
  const tone = (right) => (right ? "right" : "wrong");
  return el(
    "tr",
    { on: { click: (event) => event.target.closest("a") ?? (location.hash = `#/run/${encodeURIComponent(row.question_id)}`) } },
    el(
      "td",
      { class: `right-mark ${tone(row.correct)}` },
      mark && el("span", { role: "img", "aria-label": tone(row.correct) }, mark),
    ),
    el(
      "th",
      { scope: "row" },
      el("a", { href: `#/run/${encodeURIComponent(row.question_id)}`, tabindex: "-1", "data-id": row.question_id }, row.question_id),
      el("span", { class: "asked" }, row.question ?? ""),
    ),
    el("td", {}, answerSpan(row.answer, { most: 20 })),
    el("td", {}, row.ground_truth === null ? "" : answerSpan(row.ground_truth, { most: 20 })),
    el("td", { class: "n" }, row.answer === null ? "" : percent(row.share)),
    el(
      "td",
      { class: row.majority === row.answer ? "quiet" : "" },
      answerSpan(row.majority, { most: 20 }),
      el("span", { class: tone(row.majority_correct) }, beside),
    ),
    el(
      "td",
      { class: "n" },
      row.n_right === null ? count(row.n_trajectories) : `${count(row.n_right)} of ${count(row.n_trajectories)}`,
    ),
    el("td", { class: "n" }, count(row.n_tokens)),
  );
}

/** How rows are sorted. Missing values stay last, whichever way the rest goes. */
export function by({ key, down }) {
  const missing = (value) => value === null || value === undefined;
  return (a, b) => {
    const [x, y] = [a[key], b[key]];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : Number(x) - Number(y);
    return down ? -order : order;
  };
}

/** An accuracy with its interval, in numbers and as a bar. */
export function score(name, right, n, kind) {
  const [low, high] = wilson(right, n);
  const bar = el("i", { class: `fill ${kind}` });
  bar.style.width = `${(100 * right) / n}%`;
  const whisker = el("i", { class: "whisker" });
  whisker.style.left = `${100 * low}%`;
  whisker.style.width = `${100 * (high - low)}%`;
  return el(
    "div",
    { class: "score" },
    el("dt", {}, name),
    el(
      "dd",
      {},
      el("b", {}, `${((100 * right) / n).toFixed(1)}%`),
      ` ${count(right)} of ${count(n)} right`,
      el("span", { class: "quiet" }, `95% interval ${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)}%`),
      el("span", { class: "track", "aria-hidden": "true" }, bar, whisker),
    ),
  );
}

/** Wilson's 95% interval of a share. */
function wilson(right, n) {
  const z = 1.959964;
  const share = right / n;
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
