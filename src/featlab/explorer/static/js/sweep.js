// Against n/d: what is found in the end at several sample ratios, theory and seeds, with the threshold of the analysis.

import { stream } from "./api.js";
import { el, fill, labelled, short } from "./dom.js";
import { analysis } from "./facts.js";
import { Picture } from "./plots.js";
import { state } from "./state.js";

const POINTS = 13;

export function sweepPart(experiment) {
  const picture = new Picture({ title: "Overlap against n/d", name: "sweep", height: 380 });
  const low = el("input", { type: "number", id: "sweep-low", min: "0.01", max: "1000", step: "any", value: "0.25" });
  const high = el("input", { type: "number", id: "sweep-high", min: "0.01", max: "1000", step: "any", value: "8" });
  const seeds = el("input", { type: "number", id: "sweep-seeds", min: "0", max: "20", step: "1", value: "2" });
  const start = el("button", { type: "button", id: "sweep", onclick: () => (running ? halt("Stopped.") : run()) }, "Sweep n/d");
  const words = el("p", { class: "progress", role: "status", id: "sweep-status" });
  const element = el("section", { class: "card", hidden: true, "aria-label": "Overlap against n/d" }, picture.element,
    el("div", { class: "three" }, labelled("From n/d", low), labelled("to n/d", high), labelled("Seeds at each (0: theory alone)", seeds)), el("div", { class: "row" }, start), words);
  let [running, points, thresholds] = [null, [], []];

  function draw() {
    if (points.length || thresholds.length) picture.draw((palette) => against(palette, points, thresholds, [Number(low.value), Number(high.value)]));
  }

  function halt(said) {
    running?.stop();
    running = null;
    start.textContent = "Sweep n/d";
    fill(words, said);
  }

  async function run() {
    const [from, to] = [Number(low.value), Number(high.value)];
    if (!(from > 0 && to > from)) return fill(words, "From n/d must be above 0 and below the second number.");
    points = [];
    const ratios = Array.from({ length: POINTS }, (_, place) => Number((from * (to / from) ** (place / (POINTS - 1))).toPrecision(3)));
    start.textContent = "Stop";
    fill(words, el("span", { class: "spinner" }), "Asking …");
    const mine = (running = stream("sweep", { experiment: experiment(), ratios, simulate: Math.min(20, Math.max(0, Number(seeds.value))) }, (name, data) => running === mine && heard(name, data)));
    try {
      await mine.ended;
    } catch (fault) {
      if (running === mine) halt(fault.message);
    }
    return null;
  }

  function heard(name, data) {
    if (name === "point") {
      points.push(data);
      fill(words, el("span", { class: "spinner" }), `${points.length} points; n/d = ${short(data.ratio, 3)}${data.reason ? `: ${data.reason}` : ""}`);
      draw();
    } else if (name === "started" && data.seconds) fill(words, el("span", { class: "spinner" }), `About ${Math.round(data.seconds)} s …`);
    else if (name === "done") halt("Done.");
    else if (name === "error") halt(data.error.message);
  }

  async function readThresholds() {
    try {
      const answer = await analysis(state());
      thresholds = answer.grand_staircase.filter((stage) => stage.kind === "easy" && stage.alpha).map((stage) => stage.alpha);
      if (!element.hidden) draw();
    } catch {
      thresholds = []; // the picture is right without the line, and the Function view says what is wrong
    }
  }
  return {
    element,
    expect(asked, learner) {
      halt(`Press it to see what is found at ${POINTS} ratios: the theory, and seeds of a simulation.`);
      points = [];
      picture.clear();
      element.hidden = !asked.samples || !["bayes-amp", "spectral-estimator"].includes(learner.name);
      if (!element.hidden) readThresholds();
    },
  };
}

/** Ticks at powers of two. */
function octaves([low, high]) {
  const powers = Array.from({ length: 21 }, (_, place) => 2 ** (place - 10)).filter((value) => value >= low && value <= high);
  return { tickvals: powers, ticktext: powers.map((value) => short(value, 3)) };
}

const last = (record) => record?.recovery?.values.at(-1) ?? null;

function against(palette, points, thresholds, range) {
  const theory = points.filter((one) => last(one.prediction)).sort((one, other) => one.ratio - other.ratio);
  const seeds = points.filter((one) => last(one.simulation));
  const names = (theory[0]?.prediction ?? seeds[0]?.simulation)?.recovery.names ?? [];
  const traces = names.flatMap((name, place) => [
    { type: "scatter", mode: "lines+markers", x: theory.map((one) => one.ratio), y: theory.map((one) => last(one.prediction)[place]), name: `${name}, theory`, line: { color: palette.series[place % 6], width: 3 }, marker: { size: 5 } },
    { type: "scatter", mode: "markers", x: seeds.map((one) => one.ratio), y: seeds.map((one) => last(one.simulation)[place]), name: `${name}, seeds`, marker: { color: palette.series[place % 6], size: 9, symbol: "circle-open", line: { width: 2 } } },
  ]).filter((trace) => trace.x.length);
  return {
    traces,
    layout: {
      xaxis: { type: "log", title: "n/d", range: range.map(Math.log10), ...octaves(range) }, yaxis: { title: "found", range: [0, 1.05] }, margin: { l: 56, r: 16, t: 28, b: 48 },
      shapes: thresholds.map((ratio) => ({ type: "line", x0: ratio, x1: ratio, y0: 0, y1: 1, yref: "paper", line: { color: palette.accent, width: 2, dash: "dash" } })),
      annotations: thresholds.map((ratio) => ({ x: Math.log10(ratio), y: 1, yref: "paper", yanchor: "bottom", text: `threshold ${short(ratio, 3)}`, showarrow: false, font: { color: palette.accent } })),
    },
    label: `What is found against n/d, ${theory.length} points of the theory and ${seeds.length} runs; thresholds at ${thresholds.map((one) => short(one, 3)).join(", ") || "none"}`,
    headers: ["n/d", "What", ...names], rows: [...theory.map((one) => [one.ratio, "theory", ...last(one.prediction)]), ...seeds.map((one) => [one.ratio, "seed", ...last(one.simulation)])],
  };
}
