// Text of a model as nodes: formulas drawn, everything else as it is.

import { el, visible } from "./dom.js";
import { formula } from "./math.js";
import { shortened } from "./numbers.js";

const LONGEST_DRAWN = 20_000;

// Between dollar signs only what can't be two amounts of money: no space inside the signs, no digit behind.
const FORMULA =
  /\$\$([^$]+)\$\$|\\\[([^]+?)\\\]|\\\(([^]+?)\\\)|\$(?!\s)((?:[^$\n\\]|\\.)+?)(?<!\s)\$(?!\d)|(?=\\(?:boxed|[dt]?frac|sqrt|text)\s*\{)/g;

// In an answer: commands, with their arguments where those are words or names, and names below or above a letter.
const SPELLED =
  /\\(?:text\w*|mathrm|mbox|operatorname\*?|begin|end)\s*(?:\{[^{}]*\})+|[_^]\{[^{}]*\}|\\(?:[a-zA-Z]+|[^])/g;

// What no formula has: letters as in a word (abc is a product, CaCO a compound), words with spaces between, a_name.
const WORDS = /\p{L}[\p{Ll}\p{Lo}]{3}|\p{L}{2}\s+\p{L}|\p{L}\s+\p{L}{2}|\p{L}{2}_\p{L}{2}/u;

/** The nodes of a text. */
export function prose(text) {
  if (text.length > LONGEST_DRAWN || !/[$\\]/.test(text)) return [document.createTextNode(visible(text))];
  const nodes = [];
  let from = 0;
  FORMULA.lastIndex = 0;
  for (let found = FORMULA.exec(text); found !== null; found = FORMULA.exec(text)) {
    const bare = found[0] === "" ? bareCommand(text, found.index) : null;
    const source = bare ?? found[1] ?? found[2] ?? found[3] ?? found[4];
    const end = found.index + (bare ?? found[0]).length;
    const math = source ? formula(source, found[1] !== undefined || found[2] !== undefined) : null;
    if (math !== null && end > found.index) {
      nodes.push(document.createTextNode(visible(text.slice(from, found.index))), math);
      from = end;
    }
    FORMULA.lastIndex = Math.max(end, found.index + 1);
  }
  nodes.push(document.createTextNode(visible(text.slice(from))));
  return nodes;
}

/** A command that stands in the text without dollar signs, with its arguments in braces; null for words in a box. */
function bareCommand(text, start) {
  let at = text.indexOf("{", start);
  while (text[at] === "{") {
    let open = 0;
    const most = Math.min(text.length, start + 2000);
    let end = at;
    for (; end < most; end += 1) {
      if (text[end] === "\\") end += 1;
      else if (text[end] === "{") open += 1;
      else if (text[end] === "}" && --open === 0) break;
    }
    if (open !== 0 || end >= most) return null;
    at = end + 1;
  }
  const command = text.slice(start, at);
  return command.startsWith("\\boxed") && hasWords(command) ? null : command;
}

const hasWords = (text) => WORDS.test(text.replace(SPELLED, "\\"));

const isFormula = (text) => /\\[a-zA-Z]|[\^_]/.test(text) && !text.includes("$") && !hasWords(text);

/** An answer, drawn as mathematics where it is some; short enough for one line. */
export function answerNodes(answer, most = 48) {
  const text = String(answer);
  if (text.length <= 4 * most && isFormula(text)) {
    const math = formula(text);
    if (math !== null) {
      math.setAttribute("displaystyle", "true");
      return [math];
    }
  }
  if (text.length <= 4 * most && /^\$[^$]+\$$/.test(text)) return prose(text);
  return prose(shortened(text, most));
}

/** An answer in a span that can be struck through. */
export function answerSpan(answer, { rejected = false, most = 48 } = {}) {
  if (answer === null || answer === undefined) return el("span", { class: "quiet" }, "no answer");
  const tag = rejected ? "s" : "span";
  return el(
    tag,
    { class: "answer-text", dir: "auto", title: String(answer).length > most ? String(answer).slice(0, 2000) : null },
    ...answerNodes(answer, most),
  );
}
