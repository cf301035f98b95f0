// See: a small filter cell by cell. The page keeps the operations; the engine does them again each time.

import { field, list, make, number, percent, say, select } from "./parts.js";

export const title = "See";

const USUAL = { kind: "standard", settings: { items: "8", fpr: "0.1" }, steps: [{ do: "insert", key: "rose" }, { do: "insert", key: "lily" }], probe: "rose" };

export async function show(main, given, { ask, kinds, remember }) {
  const state = { ...structuredClone(USUAL), ...given };
  state.steps = Array.isArray(state.steps) ? state.steps : [];
  const known = () => kinds.find((kind) => kind.id === state.kind) ?? kinds[0];
  const drawing = make("section", { "aria-label": "Cells" });
  const settings = make("div", { class: "form" });
  const log = make("div");
  const answer = make("div", { "aria-live": "polite" });
  const key = make("input", { value: state.probe ?? "", id: "see-key", autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const note = make("input", { id: "see-note", autocomplete: "off", placeholder: "as usual" });
  const noted = field("its value, set or amount", note);
  const buttons = {};
  const button = (id, label, run, main = false) => (buttons[id] = make("button", { type: id === "insert" ? "submit" : "button", class: main ? "main" : null, onclick: id === "insert" ? null : run }, label));
  const typed = () => {
    if (key.value === "") { say("Type a key first."); key.focus(); return false; }
    return true;
  };
  const step = (what) => { state.steps.push(what); state.probe = what.key ?? state.probe; renew(); };
  const noteOf = () => (note.value.trim() ? { note: note.value.trim() } : {});
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); if (typed()) step({ do: "insert", key: key.value, ...noteOf() }); } },
    make("div", { class: "row" },
      make("div", { class: "grow" }, field("key", key)), noted),
    make("div", { class: "row" },
      button("insert", "Insert", null, true),
      button("query", "Query", () => { if (typed()) { state.probe = key.value; renew(); } }),
      button("remove", "Remove", () => { if (typed()) step({ do: "remove", key: key.value, ...noteOf() }); }),
      button("advance", "Let a tick pass", () => step({ do: "advance", ticks: 1 })),
      button("grow", "Grow", () => step({ do: "grow" })),
      button("seek", "Find a false positive", () => renew(true)),
      button("undo", "Undo", () => { state.steps.pop(); renew(); }),
      button("clear", "Empty it", () => { state.steps = []; renew(); })));
  const chosen = select(kinds.map((kind) => [kind.id, `${kind.id}: ${kind.name}`]), state.kind, (value) => {
    Object.assign(state, { kind: value, settings: usual(kinds.find((kind) => kind.id === value)) });
    fields();
    renew();
  });
  chosen.id = "see-kind";
  const about = make("p", { class: "faint" });
  main.append(make("h1", {}, "See a filter at work"), make("div", { class: "columns split" },
    make("div", {}, field("kind", chosen), about, make("details", { open: true }, make("summary", {}, "Settings"), settings), form, answer, log),
    drawing));

  // The settings that a small filter needs; others can be given where their default is in grey.
  function fields() {
    const kind = known();
    about.replaceChildren(kind.summary, " ", make("a", { href: `#read/${encodeURIComponent(JSON.stringify({ kind: kind.id }))}` }, "Read on"));
    settings.replaceChildren(...kind.parameters.map((of) => {
      const change = (value) => { if (value === "") delete state.settings[of.name]; else state.settings[of.name] = value; renew(); };
      const control = of.options
        ? select(of.options.map((word) => [word, word]), state.settings[of.name] ?? of.options[0], change)
        : make("input", { value: state.settings[of.name] ?? "", placeholder: of.default ?? "computed", onchange: (event) => change(event.target.value.trim()) });
      control.title = `${of.help} (${of.range})`;
      return field(of.name, control);
    }));
  }

  let turn = 0;
  async function renew(seek = false) {
    const mine = (turn += 1);
    remember(state);
    try {
      const told = await ask("see", { kind: state.kind, settings: state.settings, steps: state.steps, probe: seek ? undefined : state.probe || undefined, seek });
      if (mine !== turn) return;
      if (told.sought) { state.probe = told.sought; key.value = told.sought; remember(state); }
      if (seek && !told.sought) say("Among 200,000 other keys there is no false positive.");
      const can = (verb) => told.verbs.includes(verb);
      buttons.remove.disabled = !can("remove");
      buttons.advance.disabled = !can("advance");
      buttons.grow.disabled = !can("grow");
      buttons.insert.disabled = !can("insert") && !told.built_once;
      buttons.undo.disabled = buttons.clear.disabled = state.steps.length === 0;
      noted.hidden = told.note === "none";
      drawing.replaceChildren(...cells(told));
      drawing.dataset.kind = state.kind;
      answer.replaceChildren(...said(told));
      log.replaceChildren(...steps(told, state));
    } catch (problem) {
      if (mine !== turn) return;
      drawing.replaceChildren(make("p", { class: "bad" }, problem.message));
      drawing.dataset.kind = state.kind;
      answer.replaceChildren();
      log.replaceChildren();
      buttons.undo.disabled = buttons.clear.disabled = state.steps.length === 0;
    }
  }

  fields();
  await renew();
}

// Small, as far as the kind's settings allow.
function usual(kind) {
  const names = kind.parameters.map((of) => of.name);
  const settings = {};
  if (names.includes("items")) settings.items = "8";
  if (names.includes("fpr")) settings.fpr = "0.1";
  if (names.includes("sets")) settings.sets = "4";
  return settings;
}

function cells(told) {
  const probes = new Map((told.probe?.cells ?? []).map((of) => [`${of.store}/${of.cell}`, of.keys]));
  const changed = new Set(told.changed.map(([store, cell]) => `${store}/${cell}`));
  const out = [
    make("h2", {}, "Cells"),
    list(
      ["keys", `${number(told.items)} in ${number(told.bits)} bits`],
      ["in use", told.fill === null ? "–" : percent(told.fill)],
      ["false positives", percent(told.rate)],
      ...Object.entries(told.figures).map(([name, value]) => [name, value])),
    make("p", {},
      make("span", { class: "key" }, make("span", { class: "cell used" }), "in use"),
      make("span", { class: "key" }, make("span", { class: "cell" }), "empty"),
      make("span", { class: "key" }, make("span", { class: "cell changed" }), "changed by the last step"),
      make("span", { class: "key" }, make("span", { class: "cell probe" }), "cells of the key")),
  ];
  told.stores.forEach((store, at) => {
    if (store.cells.length === 0) return;
    const one = (value, cell) => {
      const id = `${at}/${cell}`;
      const used = value !== 0;
      const keys = probes.get(id);
      const names = ["cell", used && "used", changed.has(id) && "changed", keys && "probe"].filter(Boolean).join(" ");
      const text = `${store.name} ${cell}: ${value}${keys?.length ? `, also of ${keys.join(", ")}` : ""}`;
      const short = String(value);
      return make("span", { class: names, title: text, "data-cell": id }, store.cells.length <= 400 ? (short.length > 7 ? `${short.slice(0, 6)}…` : short) : "");
    };
    const drawn = store.cells.map(one);
    const groups = [];
    if (store.group > 1) for (let start = 0; start < drawn.length; start += store.group) groups.push(make("span", { class: "group" }, drawn.slice(start, start + store.group)));
    const width = store.width === 1 ? "" : `, ${store.width} bits each`;
    out.push(make("h3", {}, `${store.cells.length.toLocaleString("en")} ${store.name}${width}`),
      make("div", { class: store.cells.length > 400 ? "cells dense" : "cells", role: "img", "aria-label": `${store.cells.filter((value) => value !== 0).length} of ${store.cells.length} ${store.name} in use` }, groups.length ? groups : drawn));
  });
  return out;
}

function said(told) {
  const probe = told.probe;
  if (!probe) return [];
  const answers = Object.entries(probe.answers).map(([name, value]) => `${name}: ${value === true ? "yes" : value === false ? "no" : value}`);
  const out = [make("p", {}, make("strong", {}, `“${probe.key}” `), answers.join(", ") || "can be asked for in other ways alone")];
  if (probe.false_positive) {
    out.push(make("p", { class: "bad" }, "A false positive: it was never inserted."));
    const whose = probe.cells.map((of) => `cell ${of.cell}: ${of.keys.length ? of.keys.join(", ") : "no key's alone"}`);
    if (whose.length) out.push(make("p", {}, `Its cells are in use for others. ${whose.join("; ")}.`));
  } else if (probe.false_negative) {
    out.push(make("p", { class: "bad" }, "Missed: it was inserted."));
  } else if (probe.positive === true) {
    out.push(make("p", { class: "good" }, "Rightly: it is in."));
  } else if (probe.positive === false) {
    out.push(make("p", { class: "good" }, "Rightly: it is not in."));
  }
  return [make("div", { class: probe.false_positive || probe.false_negative ? "answer wrong" : "answer", id: "see-answer" }, out)];
}

function steps(told, state) {
  if (state.steps.length === 0) return [make("p", { class: "faint" }, "Nothing was done yet.")];
  const words = (step) => (step.key === undefined ? step.do : `${step.do} ${step.key}${step.note ? ` (${step.note})` : ""}`);
  return [make("h2", {}, "Steps"), make("ol", { class: "steps" }, state.steps.map((step, at) => make("li", {}, make("strong", {}, words(step)), " ", make("span", { class: "faint" }, told.steps[at] ?? ""))))];
}
