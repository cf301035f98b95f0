// The page: four views, the state of each in the address behind `#`, so that a link brings it back.

import { ask } from "./engine.js";
import { make, say } from "./parts.js";
import * as choose from "./choose.js";
import * as see from "./see.js";
import * as inspect from "./inspect.js";
import * as read from "./read.js";

const VIEWS = { choose, see, inspect, read };
const main = document.getElementById("main");
let kinds, current;

function place() {
  const [view, ...rest] = location.hash.slice(1).split("/");
  let state = {};
  try { state = JSON.parse(decodeURIComponent(rest.join("/") || "{}")); } catch { say("The link is damaged; this is the view as it begins."); }
  return [Object.hasOwn(VIEWS, view) ? view : "choose", state];
}

// Puts a view's state into the address; links and reloads bring it back.
function remember(view, state) {
  const hash = `#${view}/${encodeURIComponent(JSON.stringify(state))}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

async function show() {
  const [view, state] = place();
  current = view;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[view].title} · bouquet`;
  main.replaceChildren();
  main.dataset.view = view;
  try {
    await VIEWS[view].show(main, state, { ask, kinds, remember: (next) => current === view && remember(view, next), go });
  } catch (problem) {
    main.append(make("p", { class: "bad" }, problem.message));
  }
}

function go(view, state) {
  location.hash = `${view}/${encodeURIComponent(JSON.stringify(state))}`;
}

document.getElementById("views").append(...Object.entries(VIEWS).map(([id, view]) => make("a", { href: `#${id}/`, "data-view": id }, view.title)));
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
window.addEventListener("hashchange", show);

try {
  kinds = await ask("kinds");
  await show();
} catch (problem) {
  main.append(make("p", { class: "bad" }, problem.message));
}
