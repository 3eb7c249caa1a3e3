// The second view: a stored run, its questions in a table that sorts and filters, and the vote on each.

import { el, say } from "./dom.js";
import { count } from "./numbers.js";
import { by, COLUMNS, FILTERS, line, score } from "./run_rows.js";
import { getJson } from "./server.js";
import { Vote } from "./vote.js";
import { VoteView } from "./vote_view.js";

const $ = (id) => document.getElementById(id);
const FEW = 200;

export class RunView {
  /** `unlock` asks for the key and says whether one came. */
  constructor(settings, reader, unlock) {
    this.unlock = unlock;
    /** The method whose votes the rows hold, null before there are any. */
    this.method = null;
    this.ordered = [];
    this.sort = { key: "question_id", down: false };
    this.most = FEW;
    this.view = new VoteView(
      (vote, trajectory, all) => reader.open(vote, trajectory, all, (each) => this.#text(vote, each)),
      "number",
    );
    $("run-vote").append(this.view.element);
    $("run-method").replaceChildren(
      ...settings.methods.map(({ name, meaning }) => el("option", { value: name, title: meaning }, name)),
    );
    $("run-method").value = settings.defaults.method;
    $("run-method").addEventListener("change", () => this.show(this.id));
    $("run-filter").replaceChildren(...Object.entries(FILTERS).map(([value, [name]]) => el("option", { value }, name)));
    $("run-filter").addEventListener("change", () => this.#drawTable());
    $("run-search").addEventListener("input", () => this.#drawTable());
    $("run-more").addEventListener("click", () => {
      this.most += 1000;
      this.#drawTable();
    });
    this.heads = COLUMNS.map((column) => this.#head(column));
    $("run-heads").replaceChildren(...this.heads);
    $("run-rows").addEventListener("keydown", (event) => this.#walk(event));
    $("run-before").addEventListener("click", () => this.#neighbour(-1));
    $("run-after").addEventListener("click", () => this.#neighbour(1));
    $("run-question").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) location.hash = "#/run";
    });
  }

  /** Show the table, or the question with this id. What an earlier call still waits for is dropped. */
  async show(id, method = $("run-method").value) {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const isBack = id === null && this.id !== null;
    this.id = id;
    this.#clear(id, method);
    try {
      if (method !== this.method) await this.#load(method, abort.signal);
      if (id !== null) await this.#question(id, abort.signal);
      else if (isBack) this.#focusRow(this.last);
    } catch (error) {
      const given = !abort.signal.aborted && error.status === 401 && (await this.unlock(error.message));
      if (abort.signal.aborted) return;
      if (given) return this.show(id, method);
      this.#fail(error, id, method);
    }
    $("run").removeAttribute("aria-busy");
  }

  /** Until a question has come, only its id and place are shown; a table stays until the next one is there. */
  #clear(id, method) {
    $("run").setAttribute("aria-busy", "true");
    $("run-failure").hidden = true;
    $("run-method").value = method;
    $("run-table").hidden = id !== null;
    $("run-question").hidden = id === null;
    $("run-question-text").hidden = true;
    $("run-vote").hidden = true;
    say($("run-question-id"), id ?? "");
    this.#drawPlace();
  }

  #fail(error, id, method) {
    $("run-failure").hidden = false;
    const what = id !== null ? "The question" : this.rows ? method : "The run";
    say($("run-failure-title"), `${what} can't be shown`);
    say($("run-failure-words"), error.message);
    $("run-again").onclick = () => this.show(id, method);
    if (this.rows) $("run-method").value = this.method;
  }

  async #load(method, signal) {
    const [about, table] = await Promise.all([
      getJson("/api/run", { signal }),
      getJson(`/api/run/questions?method=${encodeURIComponent(method)}`, { signal }),
    ]);
    this.method = method;
    this.rows = table.questions;
    say($("run-name"), about.name);
    const sampled = about.ssc ? "SelfStepConf on" : null;
    say(
      $("run-about"),
      [
        about.model,
        about.benchmark,
        `${count(about.n_questions)} questions`,
        `${count(about.n_trajectories)} trajectories`,
        about.n_tokens ? `${count(about.n_tokens)} tokens` : null,
        sampled,
      ]
        .filter(Boolean)
        .join(" · "),
    );
    const notes = new Set([...about.notes, ...(table.notes ?? [])]);
    $("run-notes").replaceChildren(...[...notes].map((note) => el("li", {}, note)));
    this.#drawScores(table);
    this.#drawTable();
    this.#drawPlace();
  }

  #drawScores(table) {
    $("run-scores").hidden = !table.n_known;
    if (!table.n_known) return;
    $("run-scores").replaceChildren(
      score(table.method, table.n_right, table.n_known, "kept"),
      ...(table.method === "sc" ? [] : [score("majority voting", table.n_majority_right, table.n_known, "plain")]),
    );
  }

  #head(column) {
    const button = el(
      "button",
      { type: "button", on: { click: () => this.#sortBy(column) } },
      column.name || el("span", { class: "sr" }, column.words),
    );
    if (!column.name) button.append(el("span", { "aria-hidden": "true" }, "✓"));
    return el(
      "th",
      {
        scope: "col",
        class: column.numeric ? "n" : null,
        "aria-sort": column.key === this.sort.key ? "ascending" : null,
      },
      button,
    );
  }

  #sortBy(column) {
    const same = this.sort.key === column.key;
    this.sort = { key: column.key, down: same ? !this.sort.down : Boolean(column.numeric) };
    COLUMNS.forEach(({ key }, i) => {
      if (key === column.key) this.heads[i].setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
      else this.heads[i].removeAttribute("aria-sort");
    });
    this.#drawTable();
  }

  #chosen() {
    const fits = FILTERS[$("run-filter").value][1];
    const words = $("run-search").value.trim().toLowerCase();
    const holds = (row) =>
      !words ||
      [row.question_id, row.question, row.answer, row.ground_truth].some((text) =>
        String(text ?? "")
          .toLowerCase()
          .includes(words),
      );
    return this.rows.filter((row) => fits(row) && holds(row)).sort(by(this.sort));
  }

  #drawTable() {
    if (!this.rows) return;
    this.ordered = this.#chosen();
    const shown = this.ordered.slice(0, this.most);
    $("run-rows").replaceChildren(...shown.map((row) => line(row)));
    $("run-rows").querySelector("a")?.setAttribute("tabindex", "0");
    $("run-more").hidden = shown.length === this.ordered.length;
    say($("run-more"), `show ${count(Math.min(1000, this.ordered.length - shown.length))} more`);
    say(
      $("run-count"),
      this.ordered.length === this.rows.length
        ? `${count(this.rows.length)} questions`
        : `${count(this.ordered.length)} of ${count(this.rows.length)} questions`,
    );
    $("run-empty").hidden = this.ordered.length > 0;
    say(
      $("run-empty"),
      this.rows.length
        ? "No question fits. Choose another filter or clear the search."
        : "The run holds no questions yet.",
    );
  }

  /** Where the question stands in the table, and whether there are others around it. */
  #drawPlace() {
    const at = this.ordered.findIndex((row) => row.question_id === this.id);
    $("run-before").disabled = at <= 0;
    $("run-after").disabled = at < 0 || at >= this.ordered.length - 1;
    say($("run-place"), at < 0 ? "" : `${count(at + 1)} of ${count(this.ordered.length)}`);
  }

  async #question(id, signal) {
    this.last = id;
    const document = await getJson(
      `/api/run/questions/${encodeURIComponent(id)}?method=${encodeURIComponent(this.method)}`,
      { signal },
    );
    $("run-question-text").hidden = false;
    $("run-vote").hidden = false;
    say($("run-question-text"), document.question ?? "The run does not hold the question's text.");
    this.view.show(Vote.stored(document));
    $("run-question-id").focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  async #text(vote, trajectory) {
    try {
      return await getJson(`/api/run/questions/${encodeURIComponent(vote.id)}/samples/${trajectory.index}`);
    } catch (error) {
      if (error.status === 401 && (await this.unlock(error.message))) return this.#text(vote, trajectory);
      throw error;
    }
  }

  #neighbour(by) {
    const at = this.ordered.findIndex((row) => row.question_id === this.id);
    const next = this.ordered[at + by];
    if (next) location.hash = `#/run/${encodeURIComponent(next.question_id)}`;
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    const links = [...$("run-rows").querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    links[at].tabIndex = -1;
    const next = links[Math.max(0, Math.min(links.length - 1, at + step))];
    next.tabIndex = 0;
    next.focus();
  }

  #focusRow(id) {
    if (!id) return;
    const link = [...$("run-rows").querySelectorAll("a")].find((each) => each.dataset.id === id);
    if (!link) return;
    for (const each of $("run-rows").querySelectorAll("a[tabindex='0']")) each.tabIndex = -1;
    link.tabIndex = 0;
    link.focus();
  }
}
