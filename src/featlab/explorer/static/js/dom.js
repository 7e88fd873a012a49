// Elements, numbers and texts: the small things that every part of the page is made of.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (on...) and children; texts are never read as HTML. */
export function el(name, attributes = {}, ...children) {
  const made = name === "svg" || name === "path" ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const $ = (selector, within = document) => within.querySelector(selector);

/** Put new children in the place of the old ones. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

/** A table with a caption; cells are texts, numbers or elements, the first of each row heads it. */
export function table(caption, headers, rows) {
  const cell = (value) => (typeof value === "number" ? short(value) : value ?? "–");
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, headers.map((header) => el("th", { scope: "col" }, header)))),
      el("tbody", {}, rows.map(([first, ...rest]) =>
        el("tr", {}, el("th", { scope: "row" }, cell(first)), rest.map((value) => el("td", {}, cell(value))))))));
}

/** A number in a few characters. */
export function short(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replace(/\.?0+e/, "e");
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const rounded = Number(value.toPrecision(digits));
  return size >= 1000 ? rounded.toLocaleString("en") : String(rounded);
}

/** Seconds in words. */
export const duration = (seconds) => (seconds < 60 ? `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s` : `${Math.round(seconds / 6) / 10} min`);

/** Calls come through when none has followed for some milliseconds. */
export function debounce(call, milliseconds) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Many calls before the next frame are one. */
export function perFrame(call) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; call(); });
  };
}

/** A paper; its link leads to arXiv, and is followed only when a person clicks it. */
function paper(one) {
  return one.link
    ? el("a", { href: one.link, rel: "noreferrer noopener", target: "_blank", title: one.title }, one.citation)
    : el("span", { title: one.title }, one.citation);
}

export const papers = (list) => (list ?? []).flatMap((one, place) => (place ? ["; ", paper(one)] : [paper(one)]));

/** Links that open exhibits in the gallery. */
export const exhibitLinks = (ids) => (ids ?? []).flatMap((id, place) => [place ? ", " : "", el("a", { href: `#/gallery?x.exhibit=${id}` }, id)]);

/** Offer a text or a blob as a file. */
export function save(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Say something to those who hear the page. */
export function announce(words) {
  const place = document.getElementById("announcer");
  if (place.textContent !== words) place.textContent = words;
}

/** A labelled control; `hint` stands below it. */
export function labelled(label, control, hint = null, output = null) {
  const id = control.id || `control-${(labelled.count = (labelled.count ?? 0) + 1)}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return el("div", { class: "field" },
    el("div", { class: "field-head" }, el("label", { for: id }, label), output),
    control,
    hint && el("p", { class: "hint", id: `${id}-hint` }, hint));
}

/** A slider with its value beside its label: `shown` puts the position into words, `moved` is told of it. */
export function slider(label, { min, max, step, value, shown, moved, hint = null, id = null }) {
  const output = el("output", { class: "reading" }, shown(value));
  const control = el("input", { type: "range", min, max, step, value, id });
  const say = (position = Number(control.value)) => {
    output.textContent = shown(position);
    control.setAttribute("aria-valuetext", output.textContent);
  };
  control.addEventListener("input", () => { say(); moved(Number(control.value)); });
  control.setAttribute("aria-valuetext", output.textContent);
  const field = labelled(label, control, hint, output);
  output.setAttribute("for", control.id);
  field.set = (position) => { control.value = position; say(position); };
  return field;
}
