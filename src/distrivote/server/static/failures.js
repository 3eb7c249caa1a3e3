// What went wrong, and what the person at this page can do about it.

const TITLES = { no_answer: "There is nothing to vote on", engine_error: "The model failed" };

/** The fields of a request, by the names that they have on the page. */
const FIELDS = {
  budget: ["budget", "Change Trajectories, then ask again."],
  method: ["method", "Choose another Method, then ask again."],
  question: ["question", "Change the question, then ask again."],
  answer: ["answer", "Choose another Kind of answer under More, then ask again."],
  template: ["template", "Choose another Template under More, then ask again."],
  temperature: ["temperature", "Change Temperature under More, then ask again."],
  max_tokens: ["max-tokens", "Change Max tokens under More, then ask again."],
  system: ["system", "Change the System message under More, then ask again."],
  ssc: ["ssc", "Switch SelfStepConf off under More, then ask again."],
  stop_when: ["stop-when", "Choose another rule under More, Stop early, then ask again."],
};

/** A title, what to do, and the id of the field to change (null for none). */
export function failureOf({ type = "", status = 0, param = null, code = null } = {}) {
  const [field, change] = FIELDS[(param ?? "").split(".")[0]] ?? [null, null];
  if (change !== null) return { title: "That setting does not work here", todo: change, field };
  if (type === "no_answer")
    return {
      title: TITLES.no_answer,
      todo: "Choose a Kind of answer under More (text takes whole replies), or allow more Max tokens.",
      field: "answer",
    };
  if (status === 429) return { title: "The server is busy", todo: "Others are asking. Wait a few seconds, then try again.", field: null };
  if (status === 402 || type === "insufficient_quota")
    return { title: "The cost limit is reached", todo: "Whoever runs this server can raise it. Fewer trajectories cost less.", field: "budget" };
  if (type === "engine_error")
    return {
      title: TITLES.engine_error,
      todo:
        code === "retryable"
          ? "This often passes: try again in a moment."
          : "Try fewer Trajectories or fewer Max tokens. If it stays, whoever runs this server finds more in its log.",
      field: null,
    };
  if (status === 0 && type === "") return { title: "The connection is lost", todo: "Check that the server is running, then try again.", field: null };
  return { title: "It did not work", todo: "Try again. If it stays, whoever runs this server finds more in its log.", field: null };
}
