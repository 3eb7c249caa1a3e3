// Talks to the server that sent this page: JSON, and events as they come. Nothing else is ever asked.

const KEY = "distrivote-api-key";

/** The server's words, which begin small, as a log wants them. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What the server, or the way to it, had to say against a request. */
export class ServerError extends Error {
  constructor(message, { status = 0, type = "", param = null, code = null } = {}) {
    super(sentence(message));
    Object.assign(this, { status, type, param, code });
  }
}

export const rememberKey = (key) => sessionStorage.setItem(KEY, key);

async function request(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server can't be reached: is it still running?");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  const { message, type, param, code } = said?.error ?? {};
  throw new ServerError(message ?? `The server answered with status ${response.status}.`, {
    status: response.status,
    type: type ?? "server_error",
    param,
    code,
  });
}

export async function getJson(path, options) {
  const response = await request(path, options);
  return response.json();
}

/** Ask a question; yields events as {name, data} until the server has said everything. */
export async function* ask(body, signal) {
  const response = await request("/api/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  yield* events(response.body);
}

/** Events out of a stream of bytes, however it is cut into pieces. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = [];
  let event = { name: "message", data: [] };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = value.split("\n");
      // The tail of a line waits for the rest; joining once keeps a line of a megabyte cheap.
      lines[0] = pieces.join("") + lines[0];
      pieces = [lines.pop()];
      for (const line of lines.map((text) => text.replace(/\r$/, ""))) {
        if (line === "") {
          if (event.data.length) yield { name: event.name, data: JSON.parse(event.data.join("\n")) };
          event = { name: "message", data: [] };
        } else if (line.startsWith("event:")) event.name = line.slice(6).trim();
        else if (line.startsWith("data:")) event.data.push(line.slice(5).replace(/^ /, ""));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
