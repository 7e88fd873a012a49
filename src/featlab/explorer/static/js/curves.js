// Theory and seeds over time: the directions that are found, and the risk.

import { el } from "./dom.js";
import { Picture, ofTheoryAndSeeds } from "./plots.js";

const MOST_ROWS = 60;
const MOST_FAINT = 24; // seeds that are drawn one by one

export function curvesPart() {
  const found = new Picture({ title: "Directions found", name: "found", height: 360 });
  const risk = new Picture({ title: "Risk", name: "risk", height: 360 });
  const element = el("div", { class: "two" }, found.element, risk.element);

  function draw(theory, seeds) {
    const one = theory ?? seeds[0];
    if (!one) {
      found.clear();
      return risk.clear();
    }
    const names = one.recovery?.names ?? [];
    found.element.hidden = !names.length;
    if (names.length) found.draw((palette) => overTime(palette, { theory, seeds, lines: names, values: (record) => record.recovery?.values, title: one.recovery.words, range: [0, 1.04], y: one.recovery.column }));
    risk.heading.textContent = one.data.risk ? "Risk" : "What is measured";
    const name = one.data.risk ? "risk" : Object.keys(one.data).find((other) => isCurve(one.data[other]));
    risk.element.hidden = !name;
    return name && risk.draw((palette) => overTime(palette, { theory, seeds, lines: [name], values: (record) => column(record, name), title: one.data[name].meaning ?? name, y: name.replaceAll("_", " ") }));
  }
  return ofTheoryAndSeeds(element, draw);
}

const isCurve = (quantity) => quantity.axes.filter((axis) => axis !== "seed").join() === "time";

/** One number at each time, as rows of one. */
function column(record, name) {
  const quantity = record.data[name];
  if (!quantity) return null;
  const values = quantity.axes[0] === "seed" ? quantity.values[0] : quantity.values;
  return values.map((value) => [value]);
}

const clock = (record) => (record.step && record.time.every((time, place) => time === record.step[place]) ? "steps" : "time, steps / d");

/** Lines of the theory; every seed faint, their mean with the standard error as points. */
function overTime(palette, { theory, seeds, lines, values, title, y, range }) {
  const traces = [];
  const one = theory ?? seeds[0];
  const single = one.time.length === 1;
  const measured = seeds.map(values).filter(Boolean);
  const table = [];
  lines.forEach((line, place) => {
    const colour = palette.series[place % palette.series.length];
    const label = lines.length > 1 ? line : "";
    measured.slice(0, MOST_FAINT).forEach((rows, seed) => traces.push({ type: "scatter", mode: single ? "markers" : "lines", x: seeds[seed].time, y: rows.map((row) => row[place]), line: { color: colour, width: 1 }, marker: { color: colour, size: 5 }, opacity: 0.3, showlegend: false, hoverinfo: "skip" }));
    const predicted = theory && values(theory);
    if (predicted) traces.push({ type: "scatter", mode: single ? "markers" : "lines", x: theory.time, y: predicted.map((row) => row[place]), name: label ? `${label}, theory` : "theory", line: { color: colour, width: 3 }, marker: { color: colour, size: 12, symbol: "line-ew-open", line: { width: 3 } } });
    if (measured.length) traces.push(pointsOf(measured, seeds[0].time, place, colour, label));
    rowsOf(table, line, one.time, predicted, measured, place);
  });
  return {
    traces, label: `${title}; ${theory ? "theory" : "no theory"}, ${measured.length} seeds`, caption: title,
    layout: { xaxis: { title: clock(one), rangemode: "tozero" }, yaxis: { title: y, range, rangemode: "tozero" } },
    headers: ["Line", clock(one), "Theory", "Mean of seeds", "Standard error", "Seeds"], rows: table.slice(0, MOST_ROWS * lines.length),
  };
}

function moments(measured, time, place) {
  const list = measured.map((rows) => rows[time]?.[place]).filter((value) => value !== null && value !== undefined);
  if (!list.length) return { count: 0, mean: null, error: null };
  const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
  const square = list.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { count: list.length, mean, error: list.length > 1 ? Math.sqrt(square / (list.length - 1) / list.length) : null };
}

function pointsOf(measured, time, place, colour, label) {
  const all = time.map((_, at) => moments(measured, at, place));
  return { type: "scatter", mode: "markers", x: time, y: all.map((one) => one.mean), name: label ? `${label}, ${measured.length} seeds` : `mean of ${measured.length} seeds`,
    marker: { color: colour, size: 8, line: { color: colour, width: 1 } }, error_y: { type: "data", array: all.map((one) => one.error ?? 0), color: colour, thickness: 1.5, width: 3 } };
}

function rowsOf(table, line, time, predicted, measured, place) {
  time.forEach((at, index) => {
    const { count, mean, error } = moments(measured, index, place);
    table.push([line, at, predicted?.[index]?.[place] ?? null, mean, error, count]);
  });
}
