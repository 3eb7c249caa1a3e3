// The questions of this browser: finished votes, kept in its storage and nowhere else.

const KEY = "distrivote-history";
const MOST = 30;
/** Characters of one vote; a longer one is kept without the texts of its trajectories. */
const LARGEST = 300_000;

/** The finished votes, newest first. */
export function past() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return []; // no storage, or not ours
  }
}

/** Keep a finished vote. The oldest ones make room for it. */
export function remember(vote, body) {
  const { started, final } = vote;
  const entry = { id: started.id, at: Date.now(), body, started, final, trajectories: vote.trajectories };
  const isLarge = JSON.stringify(entry).length > LARGEST;
  if (isLarge) entry.trajectories = entry.trajectories.map((each) => ({ ...each, text: null, step_text_ends: [] }));
  const entries = [entry, ...past().filter(({ id }) => id !== entry.id)].slice(0, MOST);
  while (entries.length) {
    try {
      localStorage.setItem(KEY, JSON.stringify(entries));
      return;
    } catch {
      entries.pop(); // the storage is full
    }
  }
}

export function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // without storage there is nothing to forget
  }
}

/** The fields of a question that a link holds. */
const LINKED = ["question", "budget", "method", "answer", "template", "temperature", "max_tokens", "system", "stop_when"];

/** A link to a question with its settings; in this browser it shows the vote too. */
export function linkTo(id, body) {
  const params = new URLSearchParams();
  for (const name of LINKED) if (body[name] !== undefined && body[name] !== null) params.set(name, body[name]);
  params.set("ssc", body.ssc ? "on" : "off");
  return `${location.origin}${location.pathname}#/ask/${encodeURIComponent(id)}?${params}`;
}

/** What a link says: {id, fields}; fields is null where it has no question. */
export function linked(text) {
  const [id, query = ""] = text.split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  const fields = Object.fromEntries(LINKED.filter((name) => params.has(name)).map((name) => [name, params.get(name)]));
  if (params.has("ssc")) fields.ssc = params.get("ssc") === "on";
  return { id: decoded(id), fields: fields.question ? fields : null };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Save a document as a file of this computer. */
export function download(name, document_) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(document_, null, 2)}\n`], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
