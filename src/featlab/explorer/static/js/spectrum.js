// The singular values of W after giant steps: a bulk, and outliers that carry what was found.

import { el } from "./dom.js";
import { Picture, ofTheoryAndSeeds } from "./plots.js";

const BINS = 48;
const GAP = 0.1; // of a value, to the next: what is further off is drawn as a line of its own

export function spectrumPart() {
  const picture = new Picture({ title: "Spectrum of W", name: "spectrum", height: 340 });
  const element = el("section", { class: "card", hidden: true, "aria-label": "Spectrum of W" }, picture.element,
    el("p", { class: "small" }, "Singular values of W after the last step: of every seed as bars, of the theory as lines. What stands off the bulk carries what the step has found. The theory is of d much larger than the number of neurons, where a bulk has no width."));

  function draw(theory, seeds) {
    const predicted = theory?.data.spectrum ? theory.data.spectrum.values.at(-1) : null;
    const measured = seeds.filter((one) => one.data.spectrum).map((one) => one.data.spectrum.values[0].at(-1));
    element.hidden = !predicted && !measured.length;
    if (!element.hidden) picture.draw((palette) => histogram(palette, predicted, measured));
  }
  return ofTheoryAndSeeds(element, draw);
}

/** Values that follow each other closely are one group: its mean, and how many they are. */
function groups(values) {
  const found = [];
  for (const value of [...values].sort((one, other) => other - one)) {
    const group = found.at(-1);
    if (group && group.at(-1) - value <= GAP * group.at(-1)) group.push(value);
    else found.push([value]);
  }
  return found.map((group) => ({ value: group.reduce((sum, value) => sum + value, 0) / group.length, count: group.length }));
}

function histogram(palette, predicted, measured) {
  const all = measured.flat().filter((value) => value !== null);
  const lines = predicted ? groups(predicted) : [];
  const high = 1.05 * Math.max(...all, ...lines.map((one) => one.value));
  const width = high / BINS;
  const counts = Array.from({ length: BINS }, () => 0);
  all.forEach((value) => { counts[Math.min(BINS - 1, Math.floor(value / width))] += 1 / Math.max(1, measured.length); });
  const top = 1.15 * Math.max(1, ...counts, all.length ? 0 : Math.max(0, ...lines.map((one) => one.count)));
  return {
    traces: [
      { type: "bar", x: counts.map((_, place) => (place + 0.5) * width), y: counts, width, marker: { color: palette.line, line: { color: palette.soft, width: 1 } }, name: `${measured.length} seeds`, hovertemplate: "%{x:.3g}: %{y:.2g} in a seed<extra></extra>" },
      ...lines.map((one, place) => ({ type: "scatter", mode: "lines", x: [one.value, one.value], y: [0, top], line: { color: palette.accent, width: one.count > 1 ? 3 : 2, dash: one.count > 1 ? "dot" : "solid" },
        name: one.count > 1 ? `theory, ${one.count} together` : "theory, alone", showlegend: one.count > 1 || place === 0, hovertemplate: `theory %{x:.4g}, ${one.count} of them<extra></extra>` })),
    ],
    layout: { xaxis: { title: "singular value of W", range: [0, high] }, yaxis: { title: "how many in a seed", range: [0, top] }, bargap: 0 },
    label: `Histogram of the singular values of W of ${measured.length} seeds, with ${lines.length} values of the theory`,
    headers: ["Rank", "Theory", "Mean of seeds"],
    rows: Array.from({ length: Math.min(20, (predicted ?? measured[0]).length) }, (_, place) => [place + 1, predicted?.[place] ?? null, measured.length ? measured.reduce((sum, one) => sum + one[place], 0) / measured.length : null]),
  };
}
