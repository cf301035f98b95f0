// Choose: the adviser as a form, and curves.

import { chart, sample, saveCsv, saveSvg } from "./chart.js";
import { bytes, field, later, list, make, number, percent, say, select, tick } from "./parts.js";

export const title = "Choose";

const USUAL = { items: "1e6", fpr: "0.01", need: [], change: "later", hostile: false, shared: false, sent: "", optimise: "memory", of: "bits" };
const CURVES = {
  bits: { name: "bits per key over the rate", x: { label: "false-positive rate", log: true, unit: "percent" }, y: { label: "bits per key", log: false } },
  rate: { name: "rate over the number of keys", x: { label: "keys in the filter", log: false }, y: { label: "false-positive rate", log: true, unit: "percent" } },
  memory: { name: "memory over the number of keys", x: { label: "keys", log: true }, y: { label: "memory", log: true, unit: "bytes" } },
};
// What can be asked for beside being asked, in the words of the kinds' verbs.
const WISHES = [["remove", "keys are removed"], ["count", "keys are counted"], ["merge", "filters are merged"], ["cardinality", "how many keys, is asked"], ["list", "keys are listed"], ["get", "keys have values"]];

function workload(state) {
  return {
    items: Number(state.items), fpr: Number(state.fpr), need: state.need, hostile: state.hostile, shared: state.shared,
    grows: state.change === "grows", static: state.change === "static", window: state.change === "window" ? 3600 : null,
    sent: Number(state.sent || 0), optimise: state.optimise,
  };
}

export async function show(main, given, { ask, remember, go }) {
  const state = { ...USUAL, ...given };
  const told = make("div", { "aria-busy": "true" });
  const plot = make("section", { "aria-label": "Curves" });
  const edit = (change) => { Object.assign(state, change); remember(state); renew(); };
  const input = (name, label, extra = {}) => {
    const control = make("input", { value: state[name], inputmode: "decimal", id: `choose-${name}`, ...extra });
    control.addEventListener("input", later(() => edit({ [name]: control.value.trim() }), 400));
    return field(label, control);
  };
  const change = select([["later", "come later, about as many as said"], ["grows", "come later, without end"], ["static", "are known and never change"], ["window", "are forgotten after a time"]], state.change, (value) => edit({ change: value }));
  const form = make("form", { onsubmit: (event) => event.preventDefault() },
    make("div", { class: "form" },
      input("items", "distinct keys"),
      input("fpr", "false-positive rate"),
      field("keys", change),
      field("what is to be little", select([["memory", "memory"], ["speed", "time per operation"], ["bytes-sent", "bytes when it is sent"]], state.optimise, (value) => edit({ optimise: value }))),
      input("sent", "sent so often a day", { placeholder: "0" }),
    ),
    make("fieldset", {}, make("legend", {}, "it must also do this:"),
      make("div", { class: "ticks" },
        WISHES.map(([verb, label]) => tick(label, state.need.includes(verb), (on) => edit({ need: on ? [...state.need, verb] : state.need.filter((of) => of !== verb) }))),
        tick("strangers choose keys", state.hostile, (on) => edit({ hostile: on })),
        tick("threads change it at once", state.shared, (on) => edit({ shared: on })))));
  main.append(make("h1", {}, "Which filter?"), make("p", { class: "faint" }, "Every kind is asked what it takes, tried on a few thousand keys and ranked. Numbers are the library's."), form, told, plot);

  let turn = 0;
  async function renew() {
    const mine = (turn += 1);
    told.setAttribute("aria-busy", "true");
    say("Asking every kind …", true);
    try {
      const answer = await ask("advise", workload(state));
      if (mine !== turn) return;
      told.replaceChildren(...advice(answer, go, state));
      say("");
      await curves(answer, mine);
    } catch (problem) {
      if (mine !== turn) return;
      say("");
      told.replaceChildren(make("p", { class: "bad" }, problem.message));
      plot.replaceChildren();
    } finally {
      if (mine === turn) told.removeAttribute("aria-busy");
    }
  }

  // Curves of the kinds that do. The best, and those that would be with other wishes, come first, for kinds with nearly equal costs have
  // nearly equal curves. The first five are on unless the state says otherwise.
  async function curves(answer, mine) {
    const all = answer.advice.map((of) => of.kind);
    const rivals = answer.changes.map((of) => of.then).filter((kind) => all.includes(kind));
    const fit = [...new Set([...all.slice(0, 1), ...rivals, ...all])].slice(0, 16);
    if (fit.length === 0) { plot.replaceChildren(); return; }
    const of = Object.hasOwn(CURVES, state.of) ? state.of : "bits";
    const on = state.on?.some((kind) => fit.includes(kind)) ? state.on : fit.slice(0, 5);
    const { curves: lines } = await ask("curves", { ...workload(state), of, kinds: fit });
    if (mine !== turn) return;
    const numbered = lines.map((line) => ({ ...line, at: fit.indexOf(line.kind) }));
    const drawing = make("div");
    const shown = () => numbered.filter((line) => on.includes(line.kind));
    const mark = of === "bits" ? Number(state.fpr) : Number(state.items);
    const draw = () => drawing.replaceChildren(chart(shown(), CURVES[of], mark));
    const legend = make("div", { class: "legend", role: "group", "aria-label": "Kinds in the chart" }, numbered.map((line) => {
      const label = tick(line.kind, on.includes(line.kind), (checked) => {
        if (checked) on.push(line.kind); else on.splice(on.indexOf(line.kind), 1);
        state.on = on; remember(state); draw();
      });
      label.append(sample(line.at));
      return label;
    }));
    draw();
    plot.replaceChildren(
      make("h2", {}, "Curves"),
      make("div", { class: "row" },
        field("show", select(Object.entries(CURVES).map(([id, curve]) => [id, curve.name]), of, (value) => edit({ of: value }))),
        make("button", { type: "button", onclick: () => saveSvg(drawing, `bouquet-${of}.svg`) }, "Save SVG"),
        make("button", { type: "button", onclick: () => saveCsv(shown(), CURVES[of], `bouquet-${of}.csv`) }, "Save CSV"),
        make("button", { type: "button", onclick: () => navigator.clipboard.writeText(location.href).then(() => say("The link is copied; it works as long as this program runs."), () => say("The browser does not allow copying; take the address.")) }, "Copy link")),
      drawing, legend);
  }

  await renew();
}

function advice(answer, go, state) {
  const [first] = answer.advice;
  const out = [];
  if (!first) out.push(make("p", { class: "bad" }, "No kind does all of this."));
  out.push(make("h2", {}, first ? "Take one of these" : "Why not"));
  out.push(make("div", { class: "cards" }, answer.advice.slice(0, 3).map((of, at) => card(of, at, go, state))));
  if (answer.changes.length > 0) {
    out.push(make("h2", {}, "What would change the choice"), make("ul", {}, answer.changes.map((of) => make("li", {}, `${of.when}: `, make("code", {}, of.then)))));
  }
  const others = answer.advice.slice(3);
  if (others.length > 0) {
    const row = (of) => make("tr", {}, make("td", {}, make("code", {}, of.kind)), make("td", { class: "number" }, bytes(of.bytes)), make("td", { class: "number" }, bytes(of.bytes_sent)), make("td", { class: "number" }, `${number(of.ns_per_operation)} ns`), make("td", { class: "number" }, percent(of.rates.false_positive)));
    out.push(make("details", {}, make("summary", {}, `${others.length} others do this too`), make("div", { class: "wide" }, make("table", {}, make("tr", {}, ["kind", "memory", "when sent", "operation", "false positives"].map((name, at) => make("th", at ? { class: "number" } : {}, name))), others.map(row)))));
  }
  out.push(make("details", { open: !first }, make("summary", {}, `${answer.rejected.length} kinds do not, with reasons`), make("ul", {}, answer.rejected.map((of) => make("li", {}, make("code", {}, of.kind), ` ${of.reason}`)))));
  return out;
}

function card(of, at, go, state) {
  const lines = Object.entries({ shell: of.lines.shell, Rust: of.lines.rust, Python: of.lines.python, Redis: of.lines.redis });
  return make("article", { class: at === 0 ? "card first" : "card", "data-kind": of.kind },
    make("h3", {}, `${at + 1}. `, make("code", {}, of.kind), ` ${of.name}`),
    make("p", {}, of.why),
    list(
      ["memory", `${bytes(of.bytes)} (${number(of.bits_per_key)} bits per key)`],
      ["when sent", `${bytes(of.bytes_sent)}${of.bytes_per_day ? `, ${bytes(of.bytes_per_day)} a day` : ""}`],
      ["time", `${number(of.ns_per_operation)} ns per operation (${of.times_are})`],
      ["false positives", percent(of.rates.false_positive)],
      ...of.notes.map((note) => ["note", note])),
    make("details", {}, make("summary", {}, "Lines to copy"), lines.map(([name, text]) => [make("div", { class: "faint" }, name), make("pre", { tabindex: "0" }, make("code", {}, text))])),
    make("div", { class: "row" },
      make("button", { type: "button", onclick: () => go("see", { kind: of.kind, settings: { items: "12", fpr: state.fpr > 0.01 ? state.fpr : "0.05" } }) }, "See its cells"),
      make("button", { type: "button", onclick: () => go("read", { kind: of.kind }) }, "Read about it")));
}
