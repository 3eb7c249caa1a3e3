// One vote on the screen: trajectories on the left, the story of the decision on the right.

import { AnswerCard } from "./answer.js";
import { el, help } from "./dom.js";
import { Fields } from "./fields.js";
import { Histogram } from "./histogram.js";
import { oncePerFrame } from "./motion.js";
import { known } from "./numbers.js";
import { Rows } from "./rows.js";
import { Votes } from "./votes.js";

export class VoteView {
  /** `read` is called with a vote, a trajectory of it, and all of them in the order of the rows; `actions` are buttons of the card. */
  constructor(read, order = "newest", actions = []) {
    this.rows = new Rows((trajectory) => read(this.vote, trajectory, this.rows.inOrder()), order);
    this.card = new AnswerCard(actions);
    this.fields = new Fields();
    this.histogram = new Histogram();
    this.votes = new Votes();
    this.words = el("ul", { class: "words" });
    this.story = el(
      "section",
      { class: "panel", "aria-label": "In words" },
      el("h2", {}, "In words ", help("How the answer came about, from the numbers above.")),
      this.words,
    );
    this.element = el(
      "div",
      { class: "vote" },
      this.rows.element,
      el(
        "div",
        { class: "story" },
        this.card.element,
        this.fields.element,
        this.histogram.element,
        this.votes.element,
        this.story,
      ),
    );
    this.redraw = oncePerFrame(() => this.#draw());
  }

  /** Another vote takes the place of the last one at once; what comes to it is drawn frame by frame. */
  show(vote) {
    const another = this.vote !== vote;
    this.vote = vote;
    if (another) this.#draw();
    else this.redraw();
  }

  #draw() {
    const { vote } = this;
    this.rows.update(vote);
    this.card.update(vote);
    this.fields.update(vote);
    this.histogram.update(vote);
    this.votes.update(vote);
    const { tally } = vote;
    const notes = (tally?.notes ?? []).map((note) => `Note: ${note}`);
    // The server's sentences end with the notes: they are shown once, apart.
    const lines = (tally?.explanation ?? "").split("\n").filter((line) => line && !notes.includes(line));
    this.words.replaceChildren(
      ...lines.map((line) => el("li", {}, line)),
      ...(tally?.notes ?? []).map((note) => el("li", { class: "note" }, note)),
    );
    this.story.hidden = lines.length === 0;
    this.histogram.element.hidden = vote.state === "finished" && !(tally?.ballot ?? []).some(({ confidence }) => known(confidence));
    this.element.dataset.state = vote.state;
  }
}
