// The race: every learner over n/d, theory over simulation, and who is there first.

import { stream } from "./api.js";
import { parsedTarget } from "./composer.js";
import { announce, el, fill, labelled, short, table } from "./dom.js";
import { learners } from "./facts.js";
import { Picture } from "./plots.js";
import { changeRace, state } from "./state.js";

const FIELDS = [
  ["dim", "Dimension d", "200"], ["ratios", "n/d, LOW:HIGH or a list", "0.5:8"], ["seeds", "Runs at each n", "4"], ["budget", "Time for all of it, s", "60"],
];

/** What the server is asked. */
export function raceOf(now) {
  const said = Object.fromEntries(FIELDS.map(([name, , value]) => [name, now.race[name] ?? value]));
  const entrants = entrantsOf(now);
  return { target: now.target, noise: now.noise, dim: Number(said.dim), ratios: said.ratios, seeds: Number(said.seeds), budget: Number(said.budget), entrants: entrants.length ? entrants : null };
}

/** The names of those who run; none, where all do. */
const entrantsOf = (now) => (now.race.entrants ?? "").split(",").map((one) => one.trim()).filter(Boolean);

/** Who runs, as boxes to tick, once the server has told who there is. All of them is the same as nothing said. */
function entrantsPart() {
  const inside = el("fieldset", { class: "entrants", id: "race-entrants" }, el("legend", {}, "Who runs"));
  let boxes = [];
  const tell = () => {
    const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
    changeRace({ entrants: ticked.length === boxes.length ? "" : ticked.join(",") || boxes[0].value });
  };
  const update = (now) => {
    const named = entrantsOf(now);
    for (const box of boxes) box.checked = !named.length || named.includes(box.value);
  };
  async function begin() {
    try {
      const known = (await learners()).entrants;
      boxes = known.map((one) => el("input", { type: "checkbox", id: `runs-${one.name}`, value: one.name, onchange: tell }));
      inside.append(...known.map((one, place) => el("div", { class: "tick" }, boxes[place], el("label", { for: boxes[place].id, title: one.settings }, one.label))));
      update(state());
    } catch (fault) {
      inside.append(el("p", { class: "notice fault" }, fault.message));
    }
  }
  begin();
  return { element: inside, update };
}

export function raceView(place) {
  const found = new Picture({ title: "Share of the directions against n/d", name: "race", height: 440 });
  const risk = new Picture({ title: "Risk over Var y, of learners without directions", name: "race-risk", height: 320 });
  const standings = el("div", { id: "standings" });
  const words = el("p", { class: "progress", role: "status", id: "race-status" }, "Every learner that applies, over n/d: theory and simulation, and who finds half of every direction first.");
  const start = el("button", { type: "button", id: "race-start", onclick: () => (running ? halt("Stopped.") : run()) }, "Start the race");
  const inputs = FIELDS.map(([name, label, value]) => {
    const input = el("input", { type: "text", id: `race-${name}`, placeholder: value, spellcheck: "false", onchange: () => changeRace({ [name]: input.value.trim() }) });
    return [name, input, labelled(label, input)];
  });
  const results = el("div", { hidden: true }, el("div", { class: "card" }, found.element, risk.element), el("div", { class: "card" }, standings));
  const entrants = entrantsPart();
  fill(place, el("div", { class: "bench" }, el("div", { class: "card controls" }, inputs.map(([, , field]) => field), start, el("p", { class: "hint" }, "Inputs are isotropic here."), entrants.element),
    el("div", {}, el("div", { class: "card" }, words), results)));
  let [running, shown] = [null, null];

  function halt(said) {
    running?.stop();
    running = null;
    start.textContent = "Start the race";
    fill(words, said);
    announce(said);
  }

  function show(race, over = false) {
    results.hidden = false;
    const ran = race.entrants.filter((one) => one.simulation.found || one.theory.found);
    const without = race.entrants.filter((one) => one.simulation.risk_share && !one.simulation.found);
    found.draw((palette) => drawn(palette, ran, shares, "share of the directions", race));
    risk.element.hidden = !without.length;
    if (without.length) risk.draw((palette) => drawn(palette, without, risks, "risk / Var y", race));
    fill(standings, table(`Who is there first, at d = ${short(race.dim)}: the n/d at which half of it is found`, ["Learner", "First direction", "Every direction", "By theory", "Settings"],
      race.entrants.map((one) => [one.label, arrival(one.simulation.first_direction, one.simulation), arrival(one.simulation.all, one.simulation), arrival(one.theory.all, one.theory),
        el("span", {}, one.settings, over && remarkOf(one) ? el("span", { class: "remark" }, remarkOf(one)) : null)])));
  }

  const heard = {
    queued: (data) => fill(words, el("span", { class: "spinner" }), data.place ? `Waiting, ${data.place} before this one …` : "Starting …"),
    started: (data) => fill(words, el("span", { class: "spinner" }), `On the course, at most ${short(data.seconds ?? raceOf(state()).budget)} s …`),
    standings: (data) => show(data.race),
    done: (data) => { show(data.race, true); halt("The race is over."); },
    cancelled: () => halt("Stopped."),
    error: (data) => halt(el("span", { class: "notice fault" }, data.error.message)),
  };

  async function run() {
    if (parsedTarget()?.typed !== state().target) return fill(words, "The function above is not understood yet.");
    start.textContent = "Stop";
    results.hidden = true;
    shown = JSON.stringify(raceOf(state()));
    fill(words, el("span", { class: "spinner" }), "Asking …");
    const mine = (running = stream("race", raceOf(state()), (name, data) => running === mine && heard[name]?.(data)));
    try {
      await mine.ended;
    } catch (fault) {
      if (running === mine) halt(el("span", { class: "notice fault" }, fault.message));
    }
    return null;
  }
  return {
    update(now) {
      for (const [name, input] of inputs) input.value = now.race[name] ?? "";
      entrants.update(now);
      if (shown === null || shown === JSON.stringify(raceOf(now))) return;
      if (running) halt("Stopped: something else is asked now.");
      else fill(words, "Something else is asked now: start the race.");
      results.hidden = true;
      shown = null;
    },
    again() { if (running) halt("The race was lost when the server ended. Start it again."); },
  };
}

const remarkOf = (one) => one.simulation_remark || one.theory_remark;

/** Where an entrant is there, in the words of the command line; a ratio that is null is beyond all that were looked at. */
export function arrival(at, curve) {
  if (!at) return "–";
  const last = curve.ratios?.filter((_, place) => mean([curve.found[place]]) !== null).at(-1);
  if (at.ratio === null) return `not up to ${short(last, 3)}`;
  if (at.ratio === 0) return `below ${short(at.high, 3)}`;
  return `${short(at.ratio, 3)} (${short(at.low, 2)} to ${at.high === null ? `beyond ${short(last, 3)}` : short(at.high, 2)})`;
}

const mean = (list) => {
  const known = list.flat(2).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** Mean over seeds and directions at each ratio. */
const shares = (curve) => curve.found?.map(mean);
const risks = (curve) => curve.risk_share?.map((values) => mean([values]));

function drawn(palette, entrants, values, title, race) {
  const symbols = ["circle", "square", "diamond", "triangle-up", "cross", "x"];
  const order = entrants.map((one) => one.name).sort(); // colours stay while the order of arrival changes
  const traces = entrants.flatMap((one) => {
    const place = order.indexOf(one.name);
    const look = { color: palette.series[place % 6], width: 2.5, dash: place < 6 ? "solid" : "dot" };
    return [
      values(one.theory) && { type: "scatter", mode: "lines", x: one.theory.ratios, y: values(one.theory), name: `${one.label}, theory`, line: look, legendgroup: one.name, showlegend: !values(one.simulation) },
      values(one.simulation) && { type: "scatter", mode: values(one.theory) ? "markers" : "lines+markers", x: one.simulation.ratios, y: values(one.simulation), name: one.label, line: { ...look, width: 1 }, marker: { color: look.color, size: 9, symbol: symbols[place % 6] }, legendgroup: one.name },
    ].filter(Boolean);
  });
  return {
    traces, label: `${title} against n/d for ${entrants.length} learners at d = ${short(race.dim)}; lines are theory, points are simulations`,
    layout: { xaxis: { type: "log", title: "n/d", tickvals: race.ratios, ticktext: race.ratios.map((one) => short(one, 3)) }, yaxis: { title, rangemode: "tozero" } },
    headers: ["Learner", "What", "n/d", title],
    rows: entrants.flatMap((one) => [["theory", one.theory], ["mean of runs", one.simulation]].flatMap(([what, curve]) => (values(curve) ?? []).map((value, at) => [one.label, what, curve.ratios[at], value]))),
  };
}
