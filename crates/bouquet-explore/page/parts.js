// Small parts of pages.

// An element with attributes, listeners (`onclick`) and children.
export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "circle", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function field(label, control) {
  return make("label", {}, make("span", {}, label), control);
}

export function tick(label, checked, onchange) {
  const box = make("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.checked = checked;
  return make("label", {}, box, make("span", {}, label));
}

export function select(options, value, onchange) {
  const control = make("select", { onchange: () => onchange(control.value) });
  for (const [id, label] of options) control.append(make("option", { value: id }, label));
  control.value = value;
  return control;
}

// A number with three digits that count, or with a power of ten.
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en");
  if (size >= 1e6 || size < 1e-3) {
    const [digits, power] = value.toExponential(2).split("e");
    const raised = [...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
    return Number(digits) === 1 ? `10${raised}` : `${Number(digits)}·10${raised}`;
  }
  return String(Number(value.toPrecision(3)));
}

export function percent(rate) {
  return rate === null || rate === undefined ? "–" : `${number(100 * rate)} %`;
}

export function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at += 1; }
  return `${at === 0 ? Math.round(value) : value.toPrecision(3)} ${units[at]}`;
}

export function list(...pairs) {
  return make("dl", {}, pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

let timer;
export function say(text, lasting = false) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(timer);
  if (text && !lasting) timer = setTimeout(() => { status.textContent = ""; }, 6000);
}

export function save(name, media, content) {
  const address = URL.createObjectURL(new Blob([content], { type: media }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// HTML that the engine has made of the library's texts.
export function html(tag, text, attributes = {}) {
  const element = make(tag, attributes);
  element.innerHTML = text;
  return element;
}

// Runs the last of several calls, once they have stopped coming.
export function later(run, milliseconds = 250) {
  let waiting;
  return (...args) => { clearTimeout(waiting); waiting = setTimeout(() => run(...args), milliseconds); };
}
