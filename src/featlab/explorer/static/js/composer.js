// The function: typed, parsed as it is typed, typeset; or taken from the catalogue. Its noise and its inputs.

import { latest } from "./api.js";
import { $, announce, debounce, el, fill, papers, slider, table } from "./dom.js";
import { catalogue } from "./facts.js";
import { change, state } from "./state.js";

const PAUSE = 120; // milliseconds without a key before a text is parsed
const LARGEST_NOISE = 4;
const watchers = new Set();
let found = null;

/** What the text means, once the server has said so; null while it is wrong or unknown. */
export const parsedTarget = () => found;
export const onParsed = (watcher) => watchers.add(watcher);

export function composer(place) {
  const typed = el("input", { class: "type mono", id: "target", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    maxlength: "2000", "aria-describedby": "said", value: state().target });
  const pointer = el("div", { class: "pointer mono empty", "aria-hidden": "true" });
  const said = el("div", { class: "said", id: "said" });
  const chips = el("div", { class: "chips" });
  const ask = latest();
  let last = null;

  async function parse(text) {
    if (text === last) return;
    last = text;
    try {
      const answer = await ask("parse", { text });
      if (answer) tell({ ...answer, typed: text });
    } catch (fault) {
      last = null;
      refuse(text, fault);
    }
  }

  function tell(answer) {
    found = answer;
    typed.removeAttribute("aria-invalid");
    point(null);
    fill(chips);
    fill(said, formula(answer.mathml) ?? el("code", {}, answer.shown));
    announce(`Understood: ${answer.shown}, rank ${answer.rank}`);
    watchers.forEach((watcher) => watcher(answer));
  }

  function refuse(text, fault) {
    found = null;
    if (!fault.lost) typed.setAttribute("aria-invalid", "true");
    point(fault.columns);
    fill(said, el("p", { class: "notice fault", id: "parse-error" }, fault.message));
    fill(chips, (fault.suggestions ?? []).map((meant) =>
      el("button", { type: "button", class: "quiet mono", onclick: () => put(mended(text, fault.columns, meant)) }, meant)));
    announce(fault.message);
    watchers.forEach((watcher) => watcher(null));
  }

  function point(columns) {
    pointer.classList.toggle("empty", !columns);
    if (!columns) return;
    const [first, end] = columns;
    pointer.textContent = " ".repeat(first - 1) + "^".repeat(Math.max(1, end - first + 1));
    pointer.scrollLeft = typed.scrollLeft;
  }

  function put(text) {
    typed.value = text;
    change({ target: text });
    typed.focus();
  }

  const soon = debounce((text) => {
    change({ target: text }, "target");
    parse(text);
  }, PAUSE);
  typed.addEventListener("input", () => soon(typed.value));
  typed.addEventListener("scroll", () => { pointer.scrollLeft = typed.scrollLeft; });
  const laws = inputLaws();
  fill(place, el("div", { class: "card composer" },
    el("div", { class: "main" }, el("div", { class: "field-head" }, el("label", { for: "target" }, "Function of h1, h2, …"), el("span", { class: "hint" }, "He3(h1), sign(h1*h2), relu(h1) + h2**2 …")),
      typed, pointer, said, chips, catalogueBox(put)),
    laws.element));
  return {
    update(now, changed) {
      if (document.activeElement !== typed || changed.has("view")) typed.value = now.target;
      laws.update(now);
      if (changed.has("again")) last = null;
      if (changed.has("target") || changed.has("again")) {
        soon.cancel();
        if (typed.value !== now.target) typed.value = now.target;
        parse(now.target);
      }
    },
  };
}

/** The text with what was wrong replaced; a suggestion that is a whole text takes its place. */
function mended(text, columns, meant) {
  return columns ? text.slice(0, columns[0] - 1) + meant + text.slice(columns[1]) : meant;
}

/** MathML as an element: parsed as a document of its own, in which nothing runs. */
function formula(text) {
  const math = text && new DOMParser().parseFromString(text, "text/html").querySelector("math");
  if (!math) return null;
  math.setAttribute("display", "block");
  return document.importNode(math, true);
}

function inputLaws() {
  const noise = slider("Noise of the label (variance)", { id: "noise", min: 0, max: LARGEST_NOISE, step: 0.05, value: state().noise, shown: (value) => value.toFixed(2),
    moved: (value) => change({ noise: value }, "noise") });
  const law = el("select", { id: "law", onchange: () => change({ spike: law.value === "spike" ? 0.5 : null, alignment: 0 }) },
    el("option", { value: "isotropic" }, "isotropic, N(0, I)"), el("option", { value: "spike" }, "a spike, N(0, I + θ μ μᵀ)"));
  const spike = slider("Strength g₂: θ = d^g₂", { id: "spike", min: 0, max: 1, step: 0.05, value: state().spike ?? 0.5, shown: (value) => value.toFixed(2),
    moved: (value) => change({ spike: value }, "spike") });
  const alignment = slider("Alignment g₁: overlap d^−g₁", { id: "alignment", min: 0, max: 0.5, step: 0.05, value: state().alignment, shown: (value) => value.toFixed(2),
    moved: (value) => change({ alignment: value }, "alignment") });
  const element = el("div", { class: "side" }, noise,
    el("div", { class: "field" }, el("div", { class: "field-head" }, el("label", { for: "law" }, "Inputs")), law), spike, alignment);
  return {
    element,
    update(now) {
      law.value = now.spike === null ? "isotropic" : "spike";
      spike.hidden = alignment.hidden = now.spike === null;
      noise.set(now.noise);
      if (now.spike !== null) spike.set(now.spike);
      alignment.set(now.alignment);
    },
  };
}

/** The targets of the literature, asked for when the box is first opened. */
function catalogueBox(put) {
  const inside = el("div", { class: "catalogue" }, el("p", { class: "hint" }, "…"));
  const search = el("input", { type: "search", id: "catalogue-search", placeholder: "parity, staircase, phase retrieval …", oninput: () => list() });
  let targets = [];
  const list = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const seen = targets.filter((one) => words.every((word) => JSON.stringify(one).toLowerCase().includes(word)));
    fill(inside, table(`${seen.length} of ${targets.length} functions of the literature`, ["Function", "What it is", "Verdict", "Papers"],
      seen.map((one) => [el("button", { type: "button", class: "link mono", onclick: () => { put(one.text); change({ noise: one.noise }, "target"); } }, one.text),
        one.words, one.verdict, papers(one.papers)])));
  };
  const box = el("details", { id: "catalogue" }, el("summary", {}, "Catalogue of the literature"),
    el("div", { class: "field" }, el("label", { for: "catalogue-search" }, "Search"), search), inside);
  box.addEventListener("toggle", async () => {
    if (!box.open || targets.length) return;
    try {
      targets = await catalogue();
      list();
    } catch (fault) {
      fill(inside, el("p", { class: "notice fault" }, fault.message));
    }
  });
  return box;
}
