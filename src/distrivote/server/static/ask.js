// The first view: a question, how often it is asked and how the vote is held, and then the vote as it comes.

import { el, say } from "./dom.js";
import { count, seconds } from "./numbers.js";
import { ask, sentence } from "./server.js";
import { Vote } from "./vote.js";
import { VoteView } from "./vote_view.js";

const EXAMPLES = [
  "Tom has 5 apples and buys 7 more. How many has he?",
  "A train goes 60 km in 45 minutes. How many km does it go in 2 hours?",
  "What is the sum of the first 20 odd numbers?",
];

const STOP_RULES = {
  consensus: "when 95% of the votes agree",
  beta: "when the leader is settled",
  vote: "when the vote is settled",
};

const FAILURES = { no_answer: "There is nothing to vote on", engine_error: "The model failed" };

const $ = (id) => document.getElementById(id);

export class AskView {
  /** `read` opens a trajectory, `unlock` asks for the key and says whether one came. */
  constructor(settings, read, unlock) {
    this.settings = settings;
    this.unlock = unlock;
    this.view = new VoteView(read);
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
    $("ssc").checked = Boolean(defaults.ssc);
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

  #body() {
    const { defaults } = this.settings;
    const stopWhen = $("stop-when").value;
    return {
      question: this.question.value.trim(),
      budget: Number($("budget").value),
      method: $("method").value,
      ssc: $("ssc").checked ? defaults.ssc || true : false,
      ...(stopWhen ? { stop_when: stopWhen } : {}),
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
    if (this.vote === vote) this.#draw();
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
      say(
        $("failure-title"),
        FAILURES[vote.error.type] ?? (vote.error.status === 429 ? "The server is busy" : "It did not work"),
      );
      say($("failure-words"), sentence(vote.error.message));
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
