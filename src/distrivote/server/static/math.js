// Mathematics: LaTeX becomes MathML, which browsers draw themselves. Temml (MIT licence, temml/LICENSE) translates.
//
// What it does not understand stays as it was written, as text.

import { visible } from "./dom.js";

const LONGEST = 4000;

/** Limits for a text that somebody else wrote: no links, no images, no huge boxes, no macros without end. */
const OPTIONS = { throwOnError: true, trust: false, strict: false, maxExpand: 200, maxSize: [10, 10] };

/** What Temml lacks. A fresh object each time, because a formula can define macros in it. */
const macros = () => ({ "\\mbox": "\\text{#1}" });

/** A formula as a <math> element, or null where it is too long or broken. */
export function formula(source, display = false) {
  if (source.length > LONGEST || !source.trim() || visible(source) !== source) return null;
  const place = document.createElement("span");
  try {
    globalThis.temml.render(source, place, { ...OPTIONS, displayMode: display, macros: macros() });
  } catch {
    return null; // a parse error, or braces nested deeper than the stack
  }
  const math = place.querySelector("math");
  math?.setAttribute("aria-label", source);
  return math;
}
