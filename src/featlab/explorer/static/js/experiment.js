// An experiment from the address: what the learner's example has, what was changed of it, and the function.

import { short } from "./dom.js";

const FIRST = "online-sgd";
const LOOKS = 21; // times at which a run is looked at
// Where the example of a learner would make a poor picture: too few times, or too few neurons to have a spectrum.
const BETTER = {
  "online-sgd": { dim: "1000", until: "10", seeds: "8", activation: "erf", constraint: "spherical", loss: "correlation", times: null },
  extragradient: { until: "20", seeds: "6", times: null },
  "giant-steps": { dim: "1000", samples: "4000", steps: "1", width: "60", seeds: "4", paired: null },
  "bayes-amp": { seeds: "4", iterations: "60" },
};

/** Fields that are the page's own: `until` is the last time, which makes `times`. */
const OWN = ["until", "exhibit"];

export const learnerOf = (now, known) => known.learners.find((one) => one.name === (now.x.learner ?? FIRST)) ?? known.learners[0];

/** All that is said, with the page's own fields: example, then the better picture, then what a person changed. */
export function settings(now, learner) {
  const said = { ...learner.experiment, ...BETTER[learner.name], ...now.x, learner: learner.name, target: now.target };
  if (now.x.times) said.until = null;
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

/** What the server is asked. */
export function experimentOf(now, learner) {
  const said = settings(now, learner);
  const fits = new Set([...learner.fields.map((one) => one.name), "dim", "samples", "times", "seeds", "key", "design", "observe", "dtype", "memory", "hypercube", "learner", "target"]);
  const asked = Object.fromEntries(Object.entries(said).filter(([name]) => fits.has(name) && !OWN.includes(name)));
  if (said.until && !asked.times) asked.times = times(Number(said.until));
  if (now.noise) asked.noise = now.noise;
  if (now.spike !== null) Object.assign(asked, { spike: now.spike, alignment: now.alignment });
  for (const [name, value] of Object.entries(asked)) if (value === "true" || value === "false") asked[name] = value === "true";
  return asked;
}

/** The spectrum of W is recorded where it can be seen. */
export function withObserved(experiment) {
  if (experiment.learner !== "giant-steps" || experiment.observe || Number(experiment.width) > 256) return experiment;
  return { ...experiment, observe: "overlap,norm,cosine,gram,risk,spectrum" };
}

/** Times from 0 to the last one, as text. */
function times(last) {
  return Array.from({ length: LOOKS }, (_, place) => Number(((last * place) / (LOOKS - 1)).toPrecision(6))).join(",");
}

/** A text such as 0.5/d as its number and the rest; null where it does not begin with one. */
function factor(text) {
  const [, number, rest] = /^([0-9.]+(?:e[+-]?[0-9]+)?)(.*)$/i.exec(String(text ?? "").trim()) ?? [];
  return number === undefined ? null : { number: Number(number), rest };
}

/** The sliders of a learner: each with its place on a logarithmic scale, and what it changes. */
export function dials(now, learner) {
  const said = settings(now, learner);
  const [dim, samples] = [Number(said.dim), Number(said.samples)];
  const made = [{ name: "dim", label: "Dimension d", low: 1, high: 6, step: 0.05, value: Math.log10(dim), shown: (log) => short(whole(log)),
    patch: (log) => ({ dim: String(whole(log)), ...(samples ? { samples: String(Math.max(1, Math.round((samples / dim) * whole(log)))) } : {}) }) }];
  if (samples) {
    made.push({ name: "ratio", label: "Samples over dimension, n/d", low: -1, high: 2, step: 0.02, value: Math.log10(samples / dim), shown: (log) => short(10 ** log, 3),
      patch: (log) => ({ samples: String(Math.max(1, Math.round(10 ** log * dim))) }) });
  }
  if (said.until) made.push(logDial("until", "Until time, steps / d", Number(said.until), -1, 3));
  for (const [name, label, high] of [["steps", "Steps", 60], ["iterations", "Iterations", 200]]) {
    if (!learner.fields.some((one) => one.name === name) || !said[name]) continue;
    made.push({ name, label, low: 1, high, step: 1, value: Number(said[name]), shown: String, patch: (count) => ({ [name]: String(count) }) });
  }
  for (const [name, label] of [["step_size", "Step size"], ["inner_step", "Inner step"], ["scale", "Size of the step"]]) {
    const field = learner.fields.find((one) => one.name === name);
    const part = field && factor(said[name] ?? field.default);
    if (part) made.push(logDial(name, label, part.number, -3, 2, part.rest));
  }
  if (learner.fields.some((one) => one.name === "width")) {
    made.push({ name: "width", label: "Neurons", low: 0, high: 8, step: 0.25, value: Math.log2(Number(said.width ?? 1)), shown: (log) => short(Math.round(2 ** log)), patch: (log) => ({ width: String(Math.round(2 ** log)) }) });
  }
  made.push({ name: "seeds", label: "Seeds", low: 1, high: 64, step: 1, value: Number(said.seeds ?? 8), shown: String, patch: (count) => ({ seeds: String(count) }) });
  return made;
}

const whole = (log) => Math.round(Number((10 ** log).toPrecision(2)));

function logDial(name, label, value, low, high, rest = "") {
  return { name, label, low, high, step: 0.02, value: Math.log10(value), shown: (log) => short(10 ** log, 2) + rest, patch: (log) => ({ [name]: Number((10 ** log).toPrecision(2)) + rest }) };
}
