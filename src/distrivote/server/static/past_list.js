// The list of the questions of this browser, in a dialog.

import { el, say } from "./dom.js";
import { forget, linkTo, past } from "./history.js";
import { likely } from "./numbers.js";
import { answerSpan } from "./prose.js";

const $ = (id) => document.getElementById(id);
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function wireHistory() {
  const dialog = $("history");
  $("history-open").addEventListener("click", () => {
    draw();
    dialog.showModal();
  });
  $("history-close").addEventListener("click", () => dialog.close());
  $("history-clear").addEventListener("click", () => {
    forget();
    draw();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("a")) dialog.close();
  });
}

function draw() {
  const entries = past();
  $("history-clear").hidden = !entries.length;
  say($("history-about"), entries.length ? "Kept in this browser only." : "No questions yet. Finished votes are kept in this browser only.");
  $("history-list").replaceChildren(
    ...entries.map(({ id, at, body, final }) =>
      el(
        "li",
        {},
        el(
          "a",
          { href: new URL(linkTo(id, body)).hash },
          el("span", { class: "asked" }, body.question),
          el(
            "span",
            { class: "quiet" },
            answerSpan(final.answer, { most: 40 }),
            ` · ${final.answer !== null && final.calibrated ? `${likely(final.probability)} likely right · ` : ""}${WHEN.format(at)}`,
          ),
        ),
      ),
    ),
  );
}
