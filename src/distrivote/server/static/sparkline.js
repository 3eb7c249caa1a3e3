// Confidence step by step: small in a row, large above a text. Both on the scale that all trajectories share.

import { svg } from "./dom.js";
import { known, viridis } from "./numbers.js";

const DIAMOND = "M0-4.5 4.5 0 0 4.5-4.5 0z";
const MOST_DOTS = 24;
const WIDEST = 72;
const NARROW = 48;

/** A line over the steps, the threshold dashed, a diamond where a reflection was put in. */
export function sparkline(trajectory, range, { width = 132, height = 36 } = {}) {
  const values = trajectory.step_confidences;
  const drawing = svg("svg", {
    class: "sparkline",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    "aria-hidden": "true",
  });
  if (range.empty || !values.some(known)) return drawing;
  const x = (step) => (values.length > 1 ? 6 + (step / (values.length - 1)) * (width - 12) : width / 2);
  const y = (value) => height - 5 - range.place(value) * (height - 14);
  drawing.append(svg("path", { class: "threshold", d: stairs(trajectory.thresholds, x, y) }));
  drawing.append(svg("path", { class: "steps", d: line(values, x, y) }));
  if (values.length <= MOST_DOTS) {
    values.forEach((value, step) => {
      if (!known(value)) return;
      drawing.append(
        svg("circle", {
          cx: x(step),
          cy: y(value),
          r: 2.5,
          fill: viridis(range.place(value)).colour,
          class: "step-dot",
        }),
      );
    });
  }
  for (const { step } of trajectory.reflections) {
    const at = values.length > 1 ? (x(Math.max(0, step - 1)) + x(step)) / 2 : width / 2;
    drawing.append(
      svg("path", { class: "reflection", d: DIAMOND, transform: `translate(${at.toFixed(1)} 5.5) scale(.8)` }),
    );
  }
  return drawing;
}

/** A bar per step in the colour of its confidence; `choose` is called with the step that was pressed. */
export function stepChart(trajectory, range, width, choose) {
  const [left, right, top, bottom] = [36, 8, 18, 24];
  const height = 140;
  const values = trajectory.step_confidences;
  const each = Math.min(WIDEST, (width - left - right) / Math.max(1, values.length));
  const x = (step) => left + (step + 0.5) * each;
  const low = 0;
  const high = range.high;
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  const drawing = svg("svg", {
    class: "step-chart",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Confidence of ${values.length} steps`,
  });
  for (const tick of [0, range.ticks.at(-1)]) {
    drawing.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, range.writeTick(tick)),
    );
  }
  const gap = Math.min(4, each * 0.2);
  values.forEach((value, step) => {
    if (!known(value)) return;
    const bar = svg("rect", {
      class: "step-bar",
      x: x(step) - each / 2 + gap / 2,
      width: Math.max(0.5, each - gap),
      y: y(value),
      height: Math.max(1, y(low) - y(value)),
      fill: viridis(range.place(value)).colour,
      rx: each > 12 ? 2 : 0,
      on: { click: () => choose(step) },
    });
    bar.append(svg("title", {}, `step ${step + 1}: ${range.write(value)}`));
    drawing.append(bar);
  });
  trajectory.thresholds.forEach((value, step) => {
    if (!known(value)) return;
    const place = { x1: x(step) - each / 2, x2: x(step) + each / 2, y1: y(value), y2: y(value) };
    drawing.append(svg("line", { class: "halo", ...place }), svg("line", { class: "threshold", ...place }));
  });
  for (const { step } of trajectory.reflections) {
    drawing.append(
      svg("path", { class: "reflection", d: DIAMOND, transform: `translate(${(x(step) - each / 2).toFixed(1)} 8)` }),
    );
  }
  const last = values.length - 1;
  for (const step of last > 0 ? [0, last] : [0]) {
    // Below a narrow bar at the edge the middle of the words would be too far to the right.
    const place =
      step === last && each < NARROW
        ? { x: x(step) + each / 2, "text-anchor": "end" }
        : { x: x(step), "text-anchor": "middle" };
    drawing.append(svg("text", { class: "tick", y: height - 6, ...place }, `step ${step + 1}`));
  }
  return drawing;
}

function line(values, x, y) {
  let path = "";
  let pen = "M";
  values.forEach((value, step) => {
    if (!known(value)) return;
    path += `${pen}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** Each threshold over the width of its step. */
function stairs(values, x, y) {
  if (values.length < 2) return "";
  const half = (x(1) - x(0)) / 2;
  return values
    .map((value, step) =>
      known(value) ? `M${(x(step) - half).toFixed(1)} ${y(value).toFixed(1)}h${(2 * half).toFixed(1)}` : "",
    )
    .join("");
}
