// Elements from values. Text always becomes a text node: nothing here, or anywhere on the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const WIDEST_HELP = 264;
const HIGHEST_HELP = 140;

// Control characters, but for tabs and line ends, and marks that turn the direction of a line around.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A text that somebody else wrote, with signs for characters that would hide or reorder what is there. */
export function visible(text) {
  return String(text).replace(UNSEEN, (char) => {
    const code = char.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "␡" : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** An element with attributes and children; `on` holds listeners, `false` and `null` leave an attribute out. */
export function el(tag, attributes = {}, ...children) {
  return furnished(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return furnished(document.createElementNS(SVG, tag), attributes, children);
}

function furnished(element, { on, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, listener] of Object.entries(on ?? {})) element.addEventListener(name, listener);
  const shown = children.filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

/** Change attributes of an element that is there. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Write a text only where it changed, so that screen readers are not told the same twice. */
export function say(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** A question mark that explains what stands beside it, on hover, on focus and to screen readers. */
export function help(text) {
  const bubble = el("span", { class: "bubble", role: "tooltip" }, text);
  const mark = el("button", { type: "button", class: "help-mark", "aria-label": `What is this? ${text}` }, "?");
  const inside = () => {
    // Beside the mark, and never out of the window.
    const { left, bottom } = mark.getBoundingClientRect();
    bubble.classList.toggle("upward", bottom + HIGHEST_HELP > innerHeight);
    const most = document.body.clientWidth - WIDEST_HELP - 8 - left;
    bubble.style.left = `${Math.max(8 - left, Math.min(-8, most))}px`;
  };
  return el("span", { class: "help", on: { pointerenter: inside, focusin: inside } }, mark, bubble);
}
