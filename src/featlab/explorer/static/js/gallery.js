// The gallery: the claims of the literature that are put to the test, each to be opened here.

import { $, el, fill, papers } from "./dom.js";
import { exhibits } from "./facts.js";
import { change, state } from "./state.js";

const OF_TARGET = ["target", "noise", "spike", "alignment"];

export function galleryView(place) {
  const search = el("input", { type: "search", id: "gallery-search", placeholder: "threshold, staircase, kernel …", oninput: () => list() });
  const count = el("p", { class: "small", role: "status" });
  const inside = el("ul", { class: "exhibits" });
  fill(place, el("div", { class: "card" }, el("h2", {}, "Claims of the literature, put to the test"), el("div", { class: "field" }, el("label", { for: search.id }, "Search"), search), count), inside);
  let known = [];

  function list() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const seen = known.filter((one) => words.every((word) => JSON.stringify(one).toLowerCase().includes(word)));
    count.textContent = `${seen.length} of ${known.length} exhibits`;
    fill(inside, seen.map(card));
    const wanted = state().x.exhibit;
    const shown = wanted && $(`#exhibit-${CSS.escape(wanted)}`);
    if (shown) {
      shown.scrollIntoView({ block: "start" });
      shown.focus({ preventScroll: true });
    }
  }

  async function begin() {
    fill(count, el("span", { class: "spinner" }), "Reading the exhibits …");
    try {
      known = await exhibits();
      list();
    } catch (fault) {
      count.textContent = fault.message;
    }
  }
  begin();
  return { update: (now, changed) => { if (changed.has("x") && now.x.exhibit) list(); }, again: () => { if (!known.length) begin(); } };
}

function card(one) {
  const open = one.experiment ? () => openExperiment(one.experiment) : () => change({ view: "function", target: one.target, noise: 0, spike: null, x: {} });
  return el("li", { class: "card", id: `exhibit-${one.id}`, tabindex: "-1" }, el("h3", {}, one.title), el("p", {}, one.claim), el("p", { class: "small" }, papers(one.papers)),
    el("p", { class: "small" }, el("code", {}, `featlab exhibit run ${one.id}`)),
    el("div", { class: "row" }, one.experiment || one.target
      ? el("button", { type: "button", "aria-label": `Open ${one.title} here`, onclick: open }, "Open this one here")
      : el("span", { class: "small" }, "Its study is not one experiment: run it from the command line.")));
}

/** An experiment of an exhibit becomes the state of the page, in one step of the history. */
function openExperiment(experiment) {
  const fields = Object.entries(experiment).filter(([name, value]) => !OF_TARGET.includes(name) && value !== null);
  change({
    view: "predict", target: experiment.target ?? state().target, noise: Number(experiment.noise ?? 0), spike: experiment.spike == null ? null : Number(experiment.spike),
    alignment: Number(experiment.alignment ?? 0), x: Object.fromEntries(fields.map(([name, value]) => [name, text(value)])),
  });
}

/** A value as it is typed: lists by commas, lists of lists by semicolons. */
function text(value) {
  if (!Array.isArray(value)) return String(value);
  return value.map((part) => (Array.isArray(part) ? part.join(",") : part)).join(Array.isArray(value[0]) ? ";" : ",");
}
