// The first view: a question, how often it is asked and how the vote is held, and then the vote as it comes.

import { el, say } from "./dom.js";
import { failureOf } from "./failures.js";
import { download, linkTo, past, remember } from "./history.js";
import { copied } from "./markdown.js";
import { count, seconds } from "./numbers.js";
import { ask, sentence } from "./server.js";
import { Vote } from "./vote.js";
import { VoteView } from "./vote_view.js";

const EXAMPLES = [
  "Tom has 5 apples and buys 7 more. How many does he have?",
  "A train goes 60 km in 45 minutes. How many km does it go in 2 hours?",
  "What is the sum of the first 20 odd numbers?",
];

const STOP_RULES = {
  gain: "when more would gain little",
  sure: "when the answer is probable enough",
  consensus: "when 95% of the votes agree",
  beta: "when the leader is settled",
  vote: "when the vote is settled",
};

const $ = (id) => document.getElementById(id);

export class AskView {
  /** `read` opens a trajectory, `unlock` asks for the key and says whether one came. */
  constructor(settings, read, unlock) {
    this.settings = settings;
    this.unlock = unlock;
    this.link = el("button", { type: "button", class: "link", on: { click: () => copied(this.link, location.href) } }, "Copy link");
    this.export = el("button", { type: "button", class: "link", on: { click: () => this.#download() } }, "Export JSON");
    this.view = new VoteView(read, "newest", [this.link, this.export]);
    this.view.element.hidden = true;
    $("ask-result").append(this.view.element);
    this.form = $("ask-form");
    this.question = $("question");
    this.#fill();
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    this.question.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.question.addEventListener("input", () => this.#fit());
    window.addEventListener("resize", () => this.#fit());
    $("stop").addEventListener("click", () => this.stop());
    $("method").addEventListener("change", () => this.#explainMethod());
    $("again").addEventListener("click", () => this.start());
  }

  #fill() {
    const { settings } = this;
    const { defaults } = settings;
    say($("engine"), [settings.model, settings.engine].filter(Boolean).join(" · "));
    $("budget").max = settings.max_budget ?? "";
    $("budget").value = Math.min(defaults.budget, settings.max_budget ?? Infinity);
    $("method").replaceChildren(
      ...settings.methods.map(({ name, meaning }) => el("option", { value: name, title: meaning }, name)),
    );
    $("method").value = defaults.method;
    this.#explainMethod();
    this.#fillMore();
    $("stop-when-field").hidden = !settings.stop_rules?.length;
    $("stop-when").replaceChildren(
      el("option", { value: "" }, "never"),
      ...(settings.stop_rules ?? []).map((name) => el("option", { value: name }, STOP_RULES[name] ?? name)),
    );
    $("examples").replaceChildren(
      ...EXAMPLES.map((text) =>
        el("button", { type: "button", class: "example", on: { click: () => this.#take(text) } }, text),
      ),
    );
  }

  /** The settings behind "More" as the server has them. */
  #fillMore() {
    const { defaults, templates, answers = [], max_tokens_limit: longest } = this.settings;
    $("answers").replaceChildren(...answers.map((value) => el("option", { value })));
    $("answer").value = defaults.answer ?? "auto";
    $("template").replaceChildren(...templates.map((value) => el("option", { value }, value)));
    $("template").value = defaults.template;
    $("temperature").value = defaults.temperature;
    $("max-tokens").value = defaults.max_tokens;
    $("max-tokens").max = longest ?? "";
    $("ssc").checked = Boolean(defaults.ssc);
    $("system").value = "";
  }

  /** Open what a link says: a vote of this browser, else its question with its settings, not asked yet. */
  open({ id, fields }) {
    if (this.vote?.started?.id === id) return;
    const entry = past().find((each) => each.id === id);
    const body = entry?.body ?? fields;
    if (!body) return;
    this.stop();
    this.#fillFrom(body);
    this.vote = entry === undefined ? null : Vote.restored(entry);
    $("intro").hidden = true;
    $("linked").hidden = entry !== undefined;
    say($("linked"), "This link holds a question and its settings. Press Ask to hold the vote.");
    this.view.element.hidden = entry === undefined;
    for (const part of ["progress", "failure"]) $(part).hidden = true;
    if (entry !== undefined) this.#draw();
  }

  #fillFrom(body) {
    const ids = { "max-tokens": "max_tokens", "stop-when": "stop_when" };
    this.#fillMore();
    for (const id of ["question", "budget", "method", "answer", "template", "temperature", "max-tokens", "system", "stop-when"]) {
      const value = body[ids[id] ?? id];
      if (value !== undefined && value !== null) $(id).value = value;
    }
    $("ssc").checked = Boolean(body.ssc);
    this.#explainMethod();
    this.#fit();
  }

  #download() {
    const { started, final, trajectories } = this.vote;
    download(`${started.id}.json`, { ...started, ...final, trajectories });
  }

  #explainMethod() {
    const chosen = this.settings.methods.find(({ name }) => name === $("method").value);
    say($("method-meaning"), chosen?.meaning ?? "");
  }

  #take(text) {
    this.question.value = text;
    this.#fit();
    this.question.focus();
  }

  #fit() {
    this.question.style.height = "auto";
    this.question.style.height = `${Math.min(240, this.question.scrollHeight + 2)}px`;
  }

  /** Only what differs from the server's settings is sent besides the question, the budget, the method and SelfStepConf. */
  #body() {
    const { defaults } = this.settings;
    const more = {
      answer: $("answer").value.trim(),
      template: $("template").value,
      temperature: $("temperature").valueAsNumber,
      max_tokens: $("max-tokens").valueAsNumber,
      system: $("system").value.trim(),
      stop_when: $("stop-when").value,
    };
    const usual = { answer: "auto", ...defaults, system: "", stop_when: "" };
    const changed = Object.entries(more).filter(([name, value]) => value !== usual[name] && value !== "" && !Number.isNaN(value));
    return {
      question: this.question.value.trim(),
      budget: Number($("budget").value),
      method: $("method").value,
      ssc: $("ssc").checked ? defaults.ssc || true : false,
      ...Object.fromEntries(changed),
    };
  }

  async start() {
    const body = this.#body();
    if (!body.question) return this.question.focus();
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const vote = new Vote(body);
    this.vote = vote;
    $("intro").hidden = true;
    $("linked").hidden = true;
    this.view.element.hidden = false;
    this.#draw();
    try {
      for await (const event of ask(body, abort.signal)) {
        if (this.vote !== vote) return;
        vote.take(event);
        this.#draw();
      }
      if (vote.running) vote.fail({ message: "The connection ended before the answer came." });
    } catch (error) {
      if (this.vote !== vote) return;
      if (error.name === "AbortError") vote.state = "stopped";
      else if (error.status === 401 && (await this.unlock(error.message))) return this.start();
      else vote.fail(error);
    }
    if (this.vote !== vote) return;
    if (vote.state === "finished") this.#keep(vote, body);
    this.#draw();
  }

  /** Keep a finished vote, and have the address lead to it. */
  #keep(vote, body) {
    remember(vote, body);
    const link = linkTo(vote.started.id, body);
    if (!location.hash.startsWith("#/run")) history.replaceState(null, "", link);
    say(this.link, "Copy link");
  }

  stop() {
    this.abort?.abort();
    if (this.vote?.running) {
      this.vote.state = "stopped";
      this.#draw();
    }
  }

  #draw() {
    const { vote } = this;
    this.view.show(vote);
    // The button that was pressed gives way to the other one: the keyboard stays with them.
    const held = document.activeElement === $("ask") || document.activeElement === $("stop");
    $("ask").hidden = vote.running;
    $("stop").hidden = !vote.running;
    if (held) (vote.running ? $("stop") : $("ask")).focus();
    this.form.setAttribute("aria-busy", String(vote.running));
    $("failure").hidden = vote.state !== "failed";
    if (vote.state === "failed") {
      const { title, todo, field } = failureOf(vote.error);
      say($("failure-title"), title);
      say($("failure-words"), sentence(vote.error.message));
      say($("failure-todo"), todo);
      if (field !== null && $(field).closest("#more")) $("more").open = true;
      this.view.element.hidden = vote.trajectories.length === 0;
    }
    const done = vote.trajectories.length / (vote.budget || 1);
    $("progress").hidden = vote.state === "failed" && !vote.trajectories.length;
    $("progress-bar").style.width = `${100 * Math.min(1, vote.state === "finished" ? 1 : done)}%`;
    $("progress").dataset.state = vote.state;
    say($("progress-words"), status(vote));
    // The numbers change many times a second: only the state is announced.
    say($("progress-state"), vote.state === "running" ? "Sampling" : status(vote));
    document.title = vote.running ? `${vote.trajectories.length}/${vote.budget} · distrivote` : "distrivote";
  }
}

function status(vote) {
  const n = vote.trajectories.length;
  if (vote.state === "waiting") return "Sending the question…";
  if (vote.state === "queued")
    return vote.nBefore === 1
      ? "Waiting: one question is before yours"
      : `Waiting: ${vote.nBefore} questions are before yours`;
  if (vote.state === "stopped") return `Stopped with ${count(n)} of ${count(vote.budget)} trajectories`;
  if (vote.state === "failed") return `Ended with ${count(n)} of ${count(vote.budget)} trajectories`;
  if (vote.state === "finished")
    return `Done: ${count(n)} trajectories${vote.final?.seconds ? ` in ${seconds(vote.final.seconds)}` : ""}`;
  const { progress } = vote;
  const parts = [`${count(n)} of ${count(vote.budget)}`];
  if (progress) {
    parts.push(`${count(progress.n_tokens)} tokens`);
    if (progress.seconds > 0.5) parts.push(`${count(Math.round(progress.n_tokens / progress.seconds))} a second`);
    if (n > 0 && n < vote.budget) parts.push(`about ${seconds((progress.seconds / n) * (vote.budget - n))} left`);
  }
  return `Sampling ${parts.join(" · ")}`;
}
