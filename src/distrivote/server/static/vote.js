// One question with everything that is known of its vote so far. Holds values; draws nothing.

import { Range } from "./numbers.js";

export class Vote {
  constructor({ question = "", budget = null, method = "" } = {}) {
    this.question = question;
    this.budget = budget;
    this.method = method;
    /** waiting, queued, running, finished, stopped or failed. */
    this.state = "waiting";
    this.trajectories = [];
    this.tally = null;
    this.progress = null;
    /** One of the trajectories in progress: {index, text}. */
    this.partial = null;
    /** What the server said when it began: the model, the settings, the messages. */
    this.started = null;
    this.final = null;
    this.error = null;
    this.nBefore = 0;
    /** The right answer, where it is known, and whether the vote found it. */
    this.truth = null;
    this.right = null;
    this.majorityRight = null;
    this.best = null;
    this.confidences = new Range();
    this.stepConfidences = new Range();
    this.placed = new Map();
  }

  /** A question of a stored run. */
  static stored(document) {
    const vote = new Vote({ question: document.question ?? document.question_id, method: document.method });
    vote.id = document.question_id;
    vote.state = "finished";
    vote.truth = document.ground_truth;
    vote.right = document.correct;
    vote.majorityRight = document.majority_correct;
    vote.best = document.best;
    vote.confidences.take(document.trajectories.map(({ confidence }) => confidence));
    vote.stepConfidences.take(document.trajectories.flatMap((each) => [...each.step_confidences, ...each.thresholds]));
    document.trajectories.forEach((trajectory) => vote.add(trajectory));
    vote.count(document);
    return vote;
  }

  get running() {
    return ["waiting", "queued", "running"].includes(this.state);
  }

  /** Whether there is a winner that is not likely enough to be the answer. */
  get withheld() {
    return this.tally?.abstained ?? false;
  }

  /** What leads or has won and may be given; null for nothing. */
  get answer() {
    return this.tally?.answer ?? null;
  }

  /** What leads or has won, withheld or not; null for nothing. */
  get winner() {
    return this.tally?.answer ?? this.tally?.withheld ?? null;
  }

  /** Where the likely wrong end and the likely right begin; null for methods and votes that tell no sides apart. */
  get cut() {
    return this.tally?.first_split?.cut ?? null;
  }

  /** Take an event of the server. */
  take({ name, data }) {
    if (name === "queued") {
      this.state = "queued";
      this.nBefore = data.n_before;
    } else if (name === "started") {
      this.state = "running";
      this.started = data;
      Object.assign(this, { question: data.question, budget: data.budget, method: data.method });
    } else if (name === "progress") this.progress = data;
    else if (name === "partial") this.#grow(data);
    else if (name === "trajectory") this.add(data);
    else if (name === "tally") this.count(data);
    else if (name === "final") {
      this.state = "finished";
      this.final = data;
      this.best = data.best;
      this.count(data);
    } else if (name === "error") this.fail(data.error);
  }

  #grow({ index, text, is_more: isMore }) {
    this.partial = { index, text: isMore ? this.partial.text + text : text };
  }

  /** A vote that was held before, of what was kept of it. */
  static restored({ body, started, trajectories, final }) {
    const vote = new Vote(body);
    vote.take({ name: "started", data: started });
    trajectories.forEach((each) => vote.add(each));
    vote.take({ name: "final", data: final });
    return vote;
  }

  fail(error) {
    this.state = "failed";
    this.error = error;
  }

  add(trajectory) {
    this.trajectories.push(trajectory);
    this.confidences.take([trajectory.confidence]);
    this.stepConfidences.take([...trajectory.step_confidences, ...trajectory.thresholds]);
  }

  count(tally) {
    this.tally = tally;
    this.placed = new Map((tally?.ballot ?? []).map((each) => [each.index, each]));
  }

  /** How a trajectory fared: kept, aside, rejected, counted where there is no cut, or open while nothing is decided. */
  fate(trajectory) {
    if (trajectory.answer === null) return "unanswered";
    const place = this.placed.get(trajectory.index);
    if (place === undefined) return "open";
    if (place.rejected) return "rejected";
    // One without a confidence is on neither side, but its vote counts in the majority.
    if (this.cut === null || place.likely_right === null) return "counted";
    return place.likely_right ? "kept" : "aside";
  }
}

export const FATES = {
  kept: "likely right",
  aside: "likely wrong, set aside",
  counted: "counted",
  rejected: "its answer was rejected",
  unanswered: "no answer",
  open: "not counted yet",
};
