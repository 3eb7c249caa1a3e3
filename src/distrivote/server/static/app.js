// Starts the page: what the server can do, which view is asked for, and the key where one is needed.

import { AskView } from "./ask.js";
import { say } from "./dom.js";
import { linked } from "./history.js";
import { wireHistory } from "./past_list.js";
import { Reader } from "./reader.js";
import { RunView } from "./run.js";
import { getJson, rememberKey } from "./server.js";

const $ = (id) => document.getElementById(id);

/** Ask for the API key; says whether one was given. */
function unlock(why) {
  const dialog = $("key-dialog");
  say($("key-why"), why);
  $("key").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const key = $("key").value.trim();
        const given = dialog.returnValue === "use" && key !== "";
        if (given) rememberKey(key);
        resolve(given);
      },
      { once: true },
    );
  });
}

async function settingsOf() {
  for (;;) {
    try {
      return await getJson("/api/settings");
    } catch (error) {
      if (error.status === 401 && (await unlock(error.message))) continue;
      throw error;
    }
  }
}

async function start() {
  const reader = new Reader();
  document.body.append(reader.element);
  const settings = await settingsOf();
  const ask = new AskView(settings, (vote, trajectory, all) => reader.open(vote, trajectory, all), unlock);
  const run = settings.has_run ? new RunView(settings, reader, unlock) : null;
  $("views").hidden = run === null;
  wireHistory();

  const route = () => {
    const [, view, id] = location.hash.match(/^#\/(run|ask)?\/?(.*)$/s) ?? [];
    const onRun = view === "run" && run !== null;
    $("ask-view").hidden = onRun;
    $("run").hidden = !onRun;
    $("to-ask").setAttribute("aria-current", onRun ? "false" : "page");
    $("to-run").setAttribute("aria-current", onRun ? "page" : "false");
    if (onRun) run.show(id ? decodeURIComponent(id) : null);
    else if (view === "ask" && id) ask.open(linked(id));
  };
  addEventListener("hashchange", () => {
    reader.element.close();
    route();
  });
  route();
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  $("ask-view").hidden = true;
  $("broken").hidden = false;
  say($("broken-words"), error.message);
});
$("reload").addEventListener("click", () => location.reload());
