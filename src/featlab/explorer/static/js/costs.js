// What every algorithm needs, against the dimension, as the server sends it.

import { el, exhibitLinks, fill, papers, short, slider } from "./dom.js";
import { Picture, decades } from "./plots.js";
import { change, state } from "./state.js";

const DASHES = ["solid", "dash", "dashdot", "longdash", "longdashdot"]; // dots are for bounds

/** log10 of the samples at d, between the dimensions that the server has sent; null where there is no such number. */
function log10Samples({ dims, log10_samples: all }, line, dim) {
  const list = all[line];
  if (!list) return null;
  const after = Math.max(1, dims.findIndex((one) => one >= dim));
  const [low, high] = [dims[after - 1], dims[after]];
  const share = Math.min(1, Math.max(0, Math.log(dim / low) / Math.log(high / low)));
  return list[after - 1] + share * (list[after] - list[after - 1]);
}

export function costsPart() {
  const picture = new Picture({ title: "Samples that are needed, against d", name: "costs", height: 460 });
  const lines = el("div");
  const dial = slider("Dimension d", { id: "dim", min: 1, max: 6, step: 0.05, value: Math.log10(state().dim), shown: (log) => short(Math.round(10 ** log)),
    moved: (log) => change({ dim: Math.round(10 ** log) }, "dim") });
  const element = el("section", { class: "card", id: "costs", "aria-label": "Costs" }, picture.element, dial,
    el("p", { class: "small" }, "Powers of d; a constant is taken in where the theory knows it (message passing), else it is 1. Bounds are dotted."), lines);
  let known = null;

  const at = (line) => {
    const cost = known.sample_cost_details[line];
    const log = log10Samples(known.against_dim, line, state().dim);
    if (log === null) return "–";
    return `${cost.more_than ? "> " : cost.constant?.at_least ? "≥ " : cost.constant ? "" : "~ "}${log > 15 ? `1e${log.toFixed(0)}` : short(10 ** log, 3)}`;
  };

  function draw() {
    if (!known) return;
    const { lines: { costs: groups }, against_dim: against } = known;
    picture.draw((palette) => drawn(groups.flatMap((group) => group.costs), against, palette, state().dim));
    fill(lines, costTable(groups, at));
  }
  return {
    element,
    tell(answer) { known = answer; draw(); },
    update(now) {
      if (known && Math.abs(now.dim - (this.dim ?? 0)) > 0) draw();
      this.dim = now.dim;
      dial.set(Math.log10(now.dim));
    },
  };
}

/** Costs that are the same at every d are one line, bounds apart from what is reached: nothing lies hidden below another. */
function alike(costs, against) {
  const lines = new Map();
  for (const one of costs) {
    const course = `${one.bound} ${against.log10_samples[one.line]}`;
    if (!lines.has(course)) lines.set(course, { ...one, names: [] });
    lines.get(course).names.push(one.name);
  }
  return [...lines.values()];
}

function drawn(every, against, palette, dim) {
  const shown = every.filter((one) => against.log10_samples[one.line]);
  const largest = Math.min(24, Math.max(2, ...shown.map((one) => against.log10_samples[one.line].at(-1))));
  const traces = alike(shown, against).map((one, place) => ({
    type: "scatter", mode: "lines", x: against.dims, y: against.log10_samples[one.line].map((log) => 10 ** log), name: `${one.samples}: ${one.names.join(",<br>")}`,
    line: { color: one.bound ? palette.bound : palette.series[place % 6], width: one.bound ? 2 : 3, dash: one.bound ? "dot" : DASHES[place % DASHES.length] },
    hovertemplate: `${one.names.join("<br>")}<br>d = %{x:.3g}, n = %{y:.3g}<extra></extra>`,
  }));
  return {
    traces,
    layout: {
      xaxis: { title: "dimension d", ...decades(1, 6) }, yaxis: { title: "samples n", ...decades(0.7, largest) },
      shapes: [{ type: "line", x0: dim, x1: dim, y0: 0, y1: 1, yref: "paper", line: { color: palette.accent, width: 2 } }],
      annotations: [{ x: Math.log10(dim), y: 1, yref: "paper", text: `d = ${short(dim)}`, showarrow: false, xanchor: dim > 3e4 ? "right" : "left", yanchor: "top", xshift: dim > 3e4 ? -6 : 6, font: { color: palette.accent } }],
    },
    label: `Samples that each algorithm needs against the dimension, from 10 to a million, on logarithmic axes; marked at d = ${short(dim)}`,
    headers: ["d", ...shown.map((one) => one.name)],
    rows: [1, 2, 3, 4, 5, 6].map((log) => [10 ** log, ...shown.map((one) => 10 ** log10Samples(against, one.line, 10 ** log))]),
  };
}

function costTable(groups, at) {
  const head = ["Algorithm", "Samples", `at d = ${short(state().dim)}`, "Status", "Papers", "Exhibits"];
  const rows = groups.flatMap((group) => [
    el("tr", { class: "group" }, el("td", { colspan: head.length }, group.heading)),
    ...group.costs.map((one) => el("tr", {}, el("th", { scope: "row", title: one.meaning }, one.name), el("td", { class: "mono" }, one.samples),
      el("td", {}, at(one.line)), el("td", {}, one.status), el("td", {}, papers(one.papers)), el("td", {}, exhibitLinks(one.exhibits)))),
  ]);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Costs, line by line" },
    el("table", {}, el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)));
}
