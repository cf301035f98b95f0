// Read: the texts of the kinds, and the lab.

import { field, html, list, make, say, select } from "./parts.js";

export const title = "Read";

export async function show(main, given, { ask, kinds, remember, go }) {
  const state = { kind: given.experiment ? null : "standard", ...given };
  const text = make("article", { class: "prose" });
  const families = [...new Set(kinds.map((kind) => kind.family))];
  const chosen = make("select", { id: "read-kind", onchange: () => { Object.assign(state, { kind: chosen.value, experiment: null }); renew(); } },
    families.map((family) => make("optgroup", { label: family }, kinds.filter((kind) => kind.family === family).map((kind) => make("option", { value: kind.id }, `${kind.id}: ${kind.name}`)))));
  const experiments = await ask("experiments");
  const lab = select([["", "– an experiment –"], ...experiments.map((of) => [of.id, `${of.id}: ${of.place}, ${of.title}`])], state.experiment ?? "", (value) => { if (value) { Object.assign(state, { experiment: value }); renew(); } });
  lab.id = "read-lab";
  main.append(make("h1", {}, "Read"), make("div", { class: "form" }, field("a kind", chosen), field("the lab: a paper's figure or table, done again", lab)), text);

  let turn = 0;
  async function renew() {
    const mine = (turn += 1);
    remember(state);
    chosen.value = state.kind ?? "";
    lab.value = state.experiment ?? "";
    try {
      if (state.experiment) {
        say("The lab is at work …", true);
        const told = await ask("experiment", { id: state.experiment });
        if (mine === turn) text.replaceChildren(...report(told));
        say("");
      } else {
        const told = await ask("text", { kind: state.kind });
        if (mine === turn) text.replaceChildren(...page(told, go));
      }
    } catch (problem) {
      say("");
      if (mine === turn) text.replaceChildren(make("p", { class: "bad" }, problem.message));
    }
  }
  await renew();
}

function page(told, go) {
  return [
    make("h2", { style: "border:0;font-size:1.4rem" }, told.name),
    list(["kind", make("code", {}, told.id)], ["also called", told.aliases.join(", ") || "–"], ["can", told.verbs.join(", ")], ["errors", told.errors.join(", ") || "none"]),
    make("button", { type: "button", onclick: () => go("see", { kind: told.id, settings: Object.fromEntries([["items", "8"], ["fpr", "0.1"], ["sets", "4"]].filter(([name]) => told.parameters.some((of) => of.name === name))) }) }, "See its cells"),
    ...told.sections.flatMap((section) => [make("h2", {}, section.title), html("div", section.html)]),
    make("h2", {}, "Parameters"),
    make("div", { class: "wide" }, make("table", {}, make("tr", {}, ["parameter", "takes", "default", "meaning"].map((name) => make("th", {}, name))),
      told.parameters.map((of) => make("tr", {}, make("td", {}, make("code", {}, of.name)), make("td", {}, of.range), make("td", {}, of.default ?? "computed"), make("td", {}, of.help))))),
  ];
}

function report(told) {
  return [
    make("h2", { style: "border:0;font-size:1.4rem" }, `${told.place}: ${told.title}`),
    make("p", {}, told.summary),
    told.plots ? html("div", told.plots, { class: "plots wide" }) : null,
    make("div", { class: "wide" }, make("table", {}, make("tr", {}, ["claim", "in the paper", "found", "verdict"].map((name) => make("th", {}, name))),
      told.claims.map((of) => make("tr", {}, make("td", {}, of.what), make("td", {}, of.paper), make("td", {}, of.found), make("td", { class: of.fails ? "bad" : "" }, of.verdict))))),
    ...told.notes.map((note) => make("p", { class: "faint" }, note)),
  ].filter(Boolean);
}
