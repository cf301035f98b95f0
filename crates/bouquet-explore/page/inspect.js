// Inspect: what is in a filter's file. It goes to the program that serves this page and nowhere else.

import { chart } from "./chart.js";
import { list, make, number, percent, say } from "./parts.js";

export const title = "Inspect";

export async function show(main, _, { ask }) {
  const told = make("div");
  const input = make("input", { type: "file", id: "inspect-file", onchange: () => input.files[0] && look(input.files[0]) });
  const drop = make("div", { class: "drop" },
    make("p", { style: "margin:auto" }, "Drop a filter's file here, or choose one: what ", make("code", {}, "bouquet build"), " or ", make("code", {}, "save"), " has written."),
    make("p", { style: "margin:auto" }, make("label", {}, make("span", {}, "file"), input)));
  for (const [event, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    drop.addEventListener(event, (of) => {
      of.preventDefault();
      drop.classList.toggle("over", over);
      if (event === "drop" && of.dataTransfer.files[0]) look(of.dataTransfer.files[0]);
    });
  }
  main.append(make("h1", {}, "Inspect a filter"), make("p", { class: "faint" }, "The file stays on this machine."), drop, told);

  async function look(file) {
    say(`Reading ${file.name} …`, true);
    try {
      told.replaceChildren(...report(file.name, await ask("inspect", await file.arrayBuffer())));
    } catch (problem) {
      told.replaceChildren(make("p", { class: "bad" }, `${file.name}: ${problem.message}`));
    }
    say("");
  }
}

function report(name, told) {
  const shares = ["fill", "expected rate"];
  const row = ([of, value]) => [of, typeof value === "number" ? (shares.includes(of) ? percent(value) : number(value)) : value ?? "–"];
  const out = [make("h2", {}, name)];
  out.push(...told.warnings.map((warning) => make("p", { class: "bad" }, `⚠ ${warning}`)));
  if (told.warnings.length === 0) out.push(make("p", { class: "good" }, "Nothing looks wrong with it."));
  out.push(make("div", { class: "columns even" },
    make("div", {}, make("h3", {}, "What it says of itself"), list(...Object.entries(told.info).map(row))),
    make("div", {}, make("h3", {}, "Settings"), list(...Object.entries({ ...told.settings, ...told.figures })))));
  told.stores.forEach((store, at) => {
    if (at >= 16) return;
    out.push(make("h2", {}, `Store ${at}: ${store.cells.toLocaleString("en")} ${store.name}`),
      make("div", { class: "columns even" }, make("div", {}, make("h3", {}, "Fill map"), map(store)), make("div", {}, make("h3", {}, "Fill of its parts"), histogram(store))));
  });
  if (told.stores.length > 16) out.push(make("p", { class: "faint" }, `and ${told.stores.length - 16} more stores`));
  if (told.growth.length > 1) {
    out.push(make("h2", {}, "Expected rate as it grows"), chart([{ kind: told.info.kind, at: 0, points: told.growth.filter((point) => point[1] > 0) }],
      { x: { label: "keys", log: false }, y: { label: "false-positive rate", log: true, unit: "percent" } }, told.info.items));
  }
  return out;
}

function map(store) {
  const low = Math.min(...store.parts), high = Math.max(...store.parts);
  return make("div", {},
    make("div", { class: "map", role: "img", "aria-label": `Fill of ${store.parts.length} parts, from ${percent(low)} to ${percent(high)}` },
      store.parts.map((fill, at) => make("i", { style: `--fill:${fill}`, title: `part ${at}: ${percent(fill)} in use` }))),
    make("p", { class: "faint" }, `${store.parts.length} parts in order, ${percent(low)} to ${percent(high)} in use`));
}

function histogram(store) {
  const { low, width, here, honest, theory } = store.histogram;
  if (store.parts.length < 16) return make("p", { class: "faint" }, "It is too small to tell.");
  const points = (values) => values.map((value, at) => [low + (at + 0.5) * width, value]);
  const curves = [{ kind: "this filter", at: 0, points: points(here) }];
  if (honest) curves.push({ kind: "honest keys", at: 1, points: points(honest) });
  curves.push({ kind: "cells filled independently", at: 2, points: points(theory) });
  return make("div", {}, chart(curves, { x: { label: "share in use", log: false, unit: "percent" }, y: { label: "parts", log: false } }),
    make("p", { class: "faint" }, curves.map((curve) => curve.kind).join(" · "), store.compared ? "" : "; no filter of honest keys could be made for comparison"));
}
