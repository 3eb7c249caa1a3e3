// Mathematics that browsers draw themselves: a small part of LaTeX becomes MathML, node by node.
//
// What is not understood stays as it was written, as text. No library, no font, no HTML from strings.

import { visible } from "./dom.js";
import { ACCENTS, BLACKBOARD, FENCES, FUNCTIONS, LARGE, LETTERS, OPERATORS, SPACES } from "./math_symbols.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const LONGEST = 4000;
const DEEPEST = 40;

/** Operators whose scripts stand below and above. */
const carriesLimits = new WeakSet();

function node(tag, ...children) {
  const element = document.createElementNS(MATHML, tag);
  element.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

/** A formula as a <math> element, or null where it is too long or broken. */
export function formula(source, display = false) {
  if (source.length > LONGEST || !source.trim()) return null;
  try {
    const parser = new Parser(source);
    const row = parser.row(() => false);
    const math = node("math", row);
    if (display) math.setAttribute("display", "block");
    math.setAttribute("aria-label", source);
    return math;
  } catch (error) {
    if (error instanceof Broken) return null;
    throw error;
  }
}

class Broken extends Error {}

class Parser {
  constructor(source) {
    this.tokens = source.match(/\\[a-zA-Z]+\*?|\\[^]|\d+(?:[.,]\d+)*|\s+|[^]/gu) ?? [];
    this.at = 0;
    this.depth = 0;
  }

  peek() {
    while (/^\s+$/.test(this.tokens[this.at] ?? "")) this.at += 1;
    return this.tokens[this.at];
  }

  next() {
    const token = this.peek();
    if (token === undefined) throw new Broken();
    this.at += 1;
    return token;
  }

  /** Everything up to a token that `ends`, which is left where it is. */
  row(ends) {
    if (++this.depth > DEEPEST) throw new Broken();
    const items = [];
    while (this.peek() !== undefined && !ends(this.peek())) {
      const item = this.scripted(this.atom());
      if (item !== null) items.push(item);
    }
    this.depth -= 1;
    return items.length === 1 ? items[0] : node("mrow", ...items);
  }

  group() {
    const token = this.peek();
    // Without braces an argument is one digit: \frac12 is a half.
    if (/^\d./.test(token ?? "")) this.tokens.splice(this.at, 1, token[0], token.slice(1));
    if (token !== "{") return this.atom() ?? node("mrow");
    this.next();
    const row = this.row((token) => token === "}");
    this.next();
    return row;
  }

  scripted(base) {
    let below = null;
    let above = null;
    for (;;) {
      const token = this.peek();
      if (token === "_" && below === null) {
        this.next();
        below = this.group();
      } else if (token === "^" && above === null) {
        this.next();
        above = this.group();
      } else if (token === "'") {
        this.next();
        above = node("mrow", ...(above ? [above] : []), node("mo", "′"));
      } else break;
    }
    if (below === null && above === null) return base;
    const stem = base ?? node("mrow");
    const limits = carriesLimits.has(stem);
    if (below && above) return node(limits ? "munderover" : "msubsup", stem, below, above);
    return below ? node(limits ? "munder" : "msub", stem, below) : node(limits ? "mover" : "msup", stem, above);
  }

  atom() {
    const token = this.next();
    if (token === "{") {
      this.at -= 1;
      return this.group();
    }
    if (token === "}" || token === "&") throw new Broken();
    if (token === "_" || token === "^") {
      this.at -= 1;
      return null;
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return node("mn", token);
    if (/^\p{L}$/u.test(token)) return node("mi", token);
    if (token === "~") return space("0.3em");
    return node("mo", { "-": "−", "*": "∗", "/": "/" }[token] ?? token);
  }

  command(name) {
    if (/^[dtc]?frac$/.test(name)) return node("mfrac", this.group(), this.group());
    if (/^[dt]?binom$/.test(name)) return fenced("(", binomial(this.group(), this.group()), ")");
    if (name === "sqrt") return this.root();
    if (name === "boxed" || name === "fbox") return marked("boxed", this.group());
    if (/^(text|textbf|textit|textrm|mathrm|mbox|operatorname\*?)$/.test(name)) return this.words(name);
    if (/^(mathbb|mathcal|mathbf|boldsymbol|bm|mathit|mathsf|displaystyle|textstyle|limits|nolimits)$/.test(name)) {
      return this.styled(name);
    }
    if (name === "left" || name === "right" || /^[bB]ig+[lrm]?$/.test(name)) return this.delimiter();
    if (name === "begin") return this.environment();
    if (name === "pmod")
      return node("mrow", node("mo", "("), node("mi", "mod"), space("0.3em"), this.group(), node("mo", ")"));
    if (name === "not") return node("mo", `${this.next()}\u0338`);
    if (name === "\\" || name === "newline") return node("mspace");
    if (name === "tag") return marked("tag", this.group());
    return symbol(name) ?? this.accent(name) ?? node("mtext", `\\${name}`);
  }

  root() {
    if (this.peek() !== "[") return node("msqrt", this.group());
    this.next();
    const index = this.row((token) => token === "]");
    this.next();
    return node("mroot", this.group(), index);
  }

  words(name) {
    if (this.peek() !== "{") return node("mtext", this.next());
    this.next();
    let text = "";
    for (let open = 1; ;) {
      const token = this.tokens[this.at++];
      if (token === undefined) throw new Broken();
      if (token === "{") open += 1;
      if (token === "}" && --open === 0) break;
      text += /^\\[^a-zA-Z]$/.test(token) ? token.slice(1) : token;
    }
    return node(name.startsWith("operatorname") ? "mi" : "mtext", text.replaceAll(" ", "\u00a0"));
  }

  styled(name) {
    if (/style$|limits$/.test(name)) return null;
    const inner = this.group();
    if (name === "mathbb") inner.textContent = [...inner.textContent].map((c) => BLACKBOARD[c] ?? c).join("");
    return /bf|bold|bm/.test(name) ? marked("bold", inner) : inner;
  }

  delimiter() {
    const token = this.next();
    if (token === ".") return null;
    return node("mo", token.startsWith("\\") ? (OPERATORS[token.slice(1)] ?? token.slice(1)) : token);
  }

  accent(name) {
    if (name === "underline") return marked("underline", this.group());
    if (name === "underbrace" || name === "overbrace") return this.group();
    if (!(name in ACCENTS)) return null;
    const over = node("mover", this.group(), node("mo", ACCENTS[name]));
    over.setAttribute("accent", "true");
    return over;
  }

  environment() {
    const name = this.braced();
    if (!(name in FENCES)) throw new Broken();
    if (name === "array" && this.peek() === "{") this.braced();
    const rows = [[]];
    const ends = (token) => token === "&" || token === "\\\\" || token === "\\end";
    for (;;) {
      rows.at(-1).push(node("mtd", this.row(ends)));
      const token = this.next();
      if (token === "\\end") break;
      if (token === "\\\\") rows.push([]);
    }
    this.braced();
    const table = node("mtable", ...rows.map((cells) => node("mtr", ...cells)));
    const [open, close] = FENCES[name];
    table.setAttribute("class", name.startsWith("align") || name === "cases" ? "ranged" : "");
    return open || close ? fenced(open, table, close) : table;
  }

  braced() {
    if (this.next() !== "{") throw new Broken();
    let text = "";
    for (let token = this.next(); token !== "}"; token = this.next()) text += token;
    return text;
  }
}

function symbol(name) {
  if (name in LETTERS) return node("mi", LETTERS[name]);
  if (name in OPERATORS) return node("mo", OPERATORS[name]);
  if (name in LARGE) return limits(node("mo", LARGE[name]), !name.endsWith("int"));
  if (FUNCTIONS.has(name)) return limits(node("mi", name), /^(lim|max|min|sup|inf|gcd)$/.test(name));
  if (name in SPACES) return space(SPACES[name]);
  return /^[^a-zA-Z]$/.test(name) ? node("mo", name === "|" ? "‖" : name) : null;
}

function limits(element, below) {
  if (below) carriesLimits.add(element);
  return element;
}

function marked(name, inner) {
  const row = node("mrow", inner);
  row.setAttribute("class", name);
  return row;
}

function space(width) {
  const gap = node("mspace");
  gap.setAttribute("width", width);
  return gap;
}

function binomial(top, bottom) {
  const fraction = node("mfrac", top, bottom);
  fraction.setAttribute("linethickness", "0");
  return fraction;
}

const fenced = (open, inner, close) =>
  node("mrow", ...(open ? [node("mo", open)] : []), inner, ...(close ? [node("mo", close)] : []));
