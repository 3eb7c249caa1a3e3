// A reply as people read it: Markdown, mathematics and code as nodes. Nothing is parsed as HTML.

import { el, visible } from "./dom.js";
import { prose } from "./prose.js";

const LONGEST = 60_000;
const DEEPEST = 6;

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
/** A formula in lines of its own, with the sign that ends it. */
const DISPLAYED = [
  [/^\s*\$\$/, "$$"],
  [/^\s*\\\[/, "\\]"],
];

/** The nodes of a reply. */
export function markdown(text) {
  if (text.length > LONGEST) return [document.createTextNode(visible(text))];
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

/** A block of code with a button that copies it. */
export function codeBlock(code, language = "") {
  const copy = el("button", { type: "button", class: "link" }, "Copy code");
  copy.addEventListener("click", () => copied(copy, code));
  return el(
    "figure",
    { class: "code" },
    el("figcaption", {}, el("span", {}, language), copy),
    el("pre", { tabindex: "0", dir: "ltr" }, el("code", {}, code)),
  );
}

/** Copy a text, and say on the button whether it worked. */
export async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    return true;
  } catch {
    button.textContent = "Copying is not allowed here";
    return false;
  }
}

function blocks(lines, depth) {
  const nodes = [];
  let paragraph = [];
  const close = () => {
    if (paragraph.length) nodes.push(el("p", { dir: "auto" }, ...inline(paragraph.join("\n"))));
    paragraph = [];
  };
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    const found = block(lines, at, depth, paragraph.length > 0);
    if (found !== null) {
      close();
      nodes.push(...found.nodes);
      at = found.next;
    } else {
      if (line.trim()) paragraph.push(line.trim());
      else close();
      at += 1;
    }
  }
  close();
  return nodes;
}

/** What begins at a line and is no plain paragraph: its nodes and the line after it; null for a paragraph. */
function block(lines, at, depth, inParagraph) {
  const line = lines[at];
  const fence = line.match(FENCE);
  if (fence) return fenced(lines, at, fence);
  for (const [begins, end] of DISPLAYED) if (begins.test(line)) return displayed(lines, at, line.match(begins)[0], end);
  const heading = line.match(HEADING);
  if (heading) {
    const level = Math.min(6, heading[1].length + 3);
    return { nodes: [el(`h${level}`, { dir: "auto" }, ...inline(heading[2]))], next: at + 1 };
  }
  if (RULE.test(line)) return { nodes: [el("hr")], next: at + 1 };
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) return table(lines, at);
  if (depth >= DEEPEST) return null;
  if (QUOTE.test(line)) {
    let next = at;
    while (next < lines.length && QUOTE.test(lines[next])) next += 1;
    const inside = lines.slice(at, next).map((each) => each.match(QUOTE)[1]);
    return { nodes: [el("blockquote", {}, ...blocks(inside, depth + 1))], next };
  }
  // A number at the beginning of a line inside a paragraph is not a list, unless it is the first of one.
  const item = line.match(ITEM);
  if (item && (!inParagraph || item[2] === undefined || item[2] === "1")) return list(lines, at, depth);
  return null;
}

function fenced(lines, at, [, mark, language]) {
  const indent = lines[at].match(/^\s*/)[0].length;
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && /^[`~]+$/.test(lines[end].trim()))) end += 1;
  const code = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, line.match(/^\s*/)[0].length)));
  return { nodes: [codeBlock(code.join("\n"), language)], next: end + 1 };
}

function displayed(lines, at, begin, end) {
  let source = lines[at].slice(begin.length);
  let next = at + 1;
  while (!source.includes(end) && next < lines.length && source.length < 4000) {
    source += `\n${lines[next]}`;
    next += 1;
  }
  const stop = source.indexOf(end);
  if (stop < 0) return null;
  const open = end === "$$" ? "$$" : "\\[";
  const whole = `${open}${source.slice(0, stop).replace(/\n\s*\n/g, "\n")}${end}`;
  const rest = source.slice(stop + end.length).trim();
  return { nodes: [el("p", { class: "displayed", dir: "auto" }, ...prose(whole), ...(rest ? inline(` ${rest}`) : []))], next };
}

function list(lines, at, depth) {
  const [, indent, number] = lines[at].match(ITEM);
  const isOrdered = number !== undefined;
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = lines[next].match(ITEM);
    const isNext = item && item[1].length <= indent.length + 1 && (item[2] !== undefined) === isOrdered;
    if (isNext) items.push([item[3]]);
    else if (!lines[next].trim()) {
      // An empty line ends the list, unless what follows belongs to it.
      const after = lines.slice(next).find((line) => line.trim());
      const goesOn = after !== undefined && (/^\s{2,}/.test(after) || sameList(after, indent, isOrdered));
      if (!goesOn) break;
      items.at(-1).push("");
    } else if (/^\s{2,}/.test(lines[next]) || !startsBlock(lines[next])) items.at(-1).push(lines[next].replace(/^\s{1,4}/, ""));
    else break;
    next += 1;
  }
  const entries = items.map((each) => {
    const inside = blocks(each, depth + 1);
    const isPlain = inside.length === 1 && inside[0].nodeName === "P";
    return el("li", { dir: "auto" }, ...(isPlain ? [...inside[0].childNodes] : inside));
  });
  return { nodes: [el(isOrdered ? "ol" : "ul", { start: isOrdered && number !== "1" ? number : null }, ...entries)], next };
}

function sameList(line, indent, isOrdered) {
  const item = line.match(ITEM);
  return item !== null && item[1].length <= indent.length + 1 && (item[2] !== undefined) === isOrdered;
}

const startsBlock = (line) => [FENCE, HEADING, ITEM, QUOTE, RULE].some((form) => form.test(line));

function table(lines, at) {
  let next = at + 2;
  while (next < lines.length && lines[next].includes("|")) next += 1;
  const [head, ...rows] = [lines[at], ...lines.slice(at + 2, next)].map(cells);
  return {
    nodes: [
      el(
        "div",
        { class: "scroll", tabindex: "0" },
        el(
          "table",
          { class: "plain-table" },
          el("thead", {}, el("tr", {}, ...head.map((each) => el("th", { scope: "col" }, ...inline(each))))),
          el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((each) => el("td", {}, ...inline(each)))))),
        ),
      ),
    ],
    next,
  };
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const CODE = /(`+)([^`](?:[^]*?[^`])?)\1(?!`)/g;
/** Code and formulas while the words around them are read: each is one character that no text has. */
const FIRST = 0xf0000;
const EMPHASIS =
  /\*\*(?=\S)([^]+?\S)\*\*|__(?=\S)([^]+?\S)__(?!\w)|\*(?=[^\s*])([^*]*[^\s*])\*|(?<!\w)_(?=[^\s_])([^_]*[^\s_])_(?!\w)|~~(?=\S)([^]+?\S)~~|\[([^\][\n]+)\]\((https?:\/\/[^\s()<>]+)\)/;

/** The nodes of words with emphasis, code, formulas and links. */
function inline(text) {
  const kept = [];
  const keep = (node) => {
    kept.push(node);
    return String.fromCodePoint(FIRST + kept.length - 1);
  };
  const clean = text.replace(/[\u{f0000}-\u{ffffd}]/gu, "\ufffd");
  const coded = clean.replace(CODE, (_, __, code) => keep(el("code", { dir: "ltr" }, code.trim() || code)));
  const written = prose(coded)
    .map((node) => (node.nodeType === Node.TEXT_NODE ? node.data : keep(node)))
    .join("");
  return words(written, kept);
}

function words(text, kept) {
  const found = text.match(EMPHASIS);
  if (found === null) return restored(text, kept);
  const [whole, strong, strongToo, slanted, slantedToo, struck, link, address] = found;
  const inside = strong ?? strongToo ?? slanted ?? slantedToo ?? struck ?? link;
  const tag = (strong ?? strongToo) !== undefined ? "strong" : struck !== undefined ? "s" : link !== undefined ? "a" : "em";
  const attributes = tag === "a" ? { href: address, target: "_blank", rel: "noopener noreferrer" } : {};
  return [
    ...restored(text.slice(0, found.index), kept),
    el(tag, attributes, ...words(inside, kept)),
    ...words(text.slice(found.index + whole.length), kept),
  ];
}

function restored(text, kept) {
  return text
    .split(/([\u{f0000}-\u{ffffd}])/u)
    .filter((part) => part !== "")
    .map((part) => {
      const code = part.codePointAt(0);
      return code >= FIRST && code <= 0xffffd ? kept[code - FIRST] : document.createTextNode(part);
    });
}
