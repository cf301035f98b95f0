// A chart of curves: points become lines; the numbers are the engine's.

import { bytes, make, number, percent, save } from "./parts.js";

const WIDTH = 860, HEIGHT = 440, LEFT = 78, RIGHT = 16, TOP = 14, BOTTOM = 52;
const DASHES = ["", "8 4", "2 4", "12 4 2 4", "5 3", "1 3", "14 5", "6 2 1 2"];
const UNITS = { number, percent, bytes };

export const colour = (at) => `var(--s${at % 8})`;
export const dash = (at) => DASHES[(at + Math.floor(at / 8)) % DASHES.length];

// What a line of the legend looks like.
export function sample(at) {
  return make("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" },
    make("path", { d: "M0 6H30", stroke: colour(at), "stroke-dasharray": dash(at), "stroke-width": 3, fill: "none" }));
}

function decades(low, high) {
  const marks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power += 1) marks.push(10 ** power);
  const step = Math.ceil(marks.length / 9);
  return marks.filter((_, at) => at % step === 0);
}

function even(low, high) {
  const rough = (high - low) / 6 || 1, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((of) => of * unit).find((of) => of >= rough);
  const marks = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at += 1) marks.push(at * step);
  return marks;
}

class Axis {
  constructor(values, log, from, to, zero) {
    const valid = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
    this.log = log;
    this.low = zero && !log ? 0 : Math.min(...valid);
    this.high = Math.max(...valid);
    if (!(this.high > this.low)) this.high = this.low + (this.low || 1);
    [this.from, this.to] = [from, to];
  }
  place(value) {
    const of = this.log ? Math.log : (x) => x;
    return this.from + ((of(value) - of(this.low)) / (of(this.high) - of(this.low))) * (this.to - this.from);
  }
  shows(value) { return Number.isFinite(value) && (!this.log || value > 0); }
  marks() {
    const marks = this.log ? decades(this.low, this.high) : [];
    return marks.length > 1 ? marks : even(this.low, this.high);
  }
}

// curves: [{ kind, at, points: [[x, y]] }]; axes: { x, y }: { label, log, unit }
export function chart(curves, axes, mark) {
  const shown = curves.filter((curve) => curve.points.length > 0);
  const figure = make("figure", { class: "chart" });
  if (shown.length === 0) {
    figure.append(make("p", { class: "faint" }, "No kind is switched on, or none has these numbers."));
    return figure;
  }
  const all = shown.flatMap((curve) => curve.points);
  const x = new Axis(all.map((point) => point[0]), axes.x.log, LEFT, WIDTH - RIGHT, true);
  const y = new Axis(all.map((point) => point[1]), axes.y.log, HEIGHT - BOTTOM, TOP, true);
  const [tellX, tellY] = [UNITS[axes.x.unit ?? "number"], UNITS[axes.y.unit ?? "number"]];
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0",
    "aria-label": `${axes.y.label} over ${axes.x.label}: ${shown.map((curve) => curve.kind).join(", ")}. Arrow keys read the numbers.` });
  for (const value of x.marks()) {
    const at = x.place(value);
    svg.append(make("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
      make("text", { x: at, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, tellX(value)));
  }
  for (const value of y.marks()) {
    const at = y.place(value);
    svg.append(make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      make("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, tellY(value)));
  }
  svg.append(make("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, axes.x.label),
    make("text", { transform: `translate(15 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, axes.y.label));
  if (mark && mark >= x.low && mark <= x.high) {
    svg.append(make("line", { x1: x.place(mark), x2: x.place(mark), y1: TOP, y2: HEIGHT - BOTTOM, stroke: "var(--faint)", "stroke-width": 1.5, "stroke-dasharray": "3 3" }));
  }
  for (const curve of shown) {
    const points = curve.points.filter(([a, b]) => x.shows(a) && y.shows(b));
    const path = points.map(([a, b], at) => `${at ? "L" : "M"}${x.place(a).toFixed(1)} ${y.place(b).toFixed(1)}`).join("");
    svg.append(make("path", { class: "curve", d: path, stroke: colour(curve.at), "stroke-dasharray": dash(curve.at), "data-kind": curve.kind }));
  }
  const line = make("line", { y1: TOP, y2: HEIGHT - BOTTOM, stroke: "var(--text)", visibility: "hidden" });
  const tip = make("div", { class: "tip", hidden: true });
  svg.append(line);
  figure.append(svg, tip);

  // The points nearest to a place, of every curve.
  const grid = [...new Set(all.map((point) => point[0]))].filter((value) => x.shows(value)).sort((a, b) => a - b);
  let at = -1;
  const show = (index) => {
    at = Math.max(0, Math.min(grid.length - 1, index));
    const value = grid[at], place = x.place(value);
    line.setAttribute("x1", place); line.setAttribute("x2", place); line.setAttribute("visibility", "visible");
    const rows = shown.map((curve) => {
      const near = curve.points.reduce((best, point) => (Math.abs(x.place(point[0]) - place) < Math.abs(x.place(best[0]) - place) ? point : best));
      return Math.abs(x.place(near[0]) - place) < 12 ? [curve.kind, near[1]] : null;
    }).filter(Boolean).sort((a, b) => a[1] - b[1]);
    tip.replaceChildren(make("strong", {}, tellX(value)), ...rows.map(([kind, of]) => make("div", {}, `${kind}: ${tellY(of)}`)));
    tip.hidden = false;
    const share = place / WIDTH;
    tip.style.top = "1rem";
    tip.style.left = share < 0.5 ? `calc(${share * 100}% + 10px)` : "auto";
    tip.style.right = share < 0.5 ? "auto" : `calc(${(1 - share) * 100}% + 10px)`;
  };
  const hide = () => { tip.hidden = true; line.setAttribute("visibility", "hidden"); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * WIDTH;
    show(grid.reduce((best, value, index) => (Math.abs(x.place(value) - place) < Math.abs(x.place(grid[best]) - place) ? index : best), 0));
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { show(at < 0 ? 0 : at + step); event.preventDefault(); }
  });
  return figure;
}

// The same as a file: variables of the page become colours.
export function saveSvg(figure, name) {
  const svg = figure.querySelector("svg").cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.insertBefore(make("rect", { width: WIDTH, height: HEIGHT, fill: "var(--ground)" }), svg.firstChild);
  for (const text of svg.querySelectorAll("text")) { text.setAttribute("fill", "var(--text)"); text.setAttribute("font-family", "sans-serif"); text.setAttribute("font-size", "13"); }
  for (const line of svg.querySelectorAll(".grid")) line.setAttribute("stroke", "var(--line)");
  for (const curve of svg.querySelectorAll(".curve")) { curve.setAttribute("fill", "none"); curve.setAttribute("stroke-width", "2.4"); }
  save(name, "image/svg+xml", svg.outerHTML.replace(/var\((--[a-z0-9]+)\)/g, (_, of) => style.getPropertyValue(of).trim()));
}

export function saveCsv(curves, axes, name) {
  const rows = curves.flatMap((curve) => curve.points.map(([a, b]) => `${curve.kind},${a},${b}`));
  save(name, "text/csv", [`kind,${axes.x.label.replaceAll(",", "")},${axes.y.label.replaceAll(",", "")}`, ...rows].join("\n") + "\n");
}
