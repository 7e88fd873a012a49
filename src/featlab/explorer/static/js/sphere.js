// Trajectories on the sphere: a neuron's unit vector, seen along the directions of the target. What is not along the two
// chosen ones is the height, so that a random start lies at the pole and a neuron that has found a direction at the rim.

import { el, fill, slider } from "./dom.js";
import { Picture, ofTheoryAndSeeds } from "./plots.js";

const MOST_LINES = 48;

export function spherePart() {
  const picture = new Picture({ title: "On the sphere", name: "sphere", height: 460 });
  let view = { turn: -35, tilt: 35 };
  const turn = slider("Turn", { id: "turn", min: -180, max: 180, step: 5, value: view.turn, shown: (angle) => `${angle}°`, moved: (angle) => { view.turn = angle; part.again(); } });
  const tilt = slider("Tilt", { id: "tilt", min: 0, max: 90, step: 5, value: view.tilt, shown: (angle) => `${angle}°`, moved: (angle) => { view.tilt = angle; part.again(); } });
  const words = el("p", { class: "small" });
  const element = el("section", { class: "card", hidden: true, "aria-label": "Trajectories on the sphere" }, picture.element, el("div", { class: "two" }, turn, tilt), words);

  function draw(theory, seeds) {
    const one = theory?.data.cosine ? theory : seeds[0];
    element.hidden = !one?.data.cosine || one.student === "none" || one.time.length < 3;
    if (element.hidden) return;
    const rank = one.direction?.length ?? 1;
    fill(words, rank > 1 ? "Every line is a neuron. Along the floor its cosines with h1 and h2; its height is all the rest." : "Every line is a neuron. To the right its cosine with h1; its height is all the rest.");
    picture.draw((palette) => ball(palette, view, theory, seeds));
  }
  const part = ofTheoryAndSeeds(element, draw);
  return part;
}

/** The paths of a record's neurons: at each time (x, y, z) with x and y the cosines and z >= 0 what is left. */
function paths(record) {
  const quantity = record.data.cosine;
  const values = quantity.axes[0] === "seed" ? quantity.values[0] : quantity.values;
  const width = values[0].length;
  return Array.from({ length: width }, (_, neuron) => values.map((rows) => {
    const [x, y = 0] = rows[neuron];
    return x === null ? null : [x, y, Math.sqrt(Math.max(0, 1 - x * x - y * y))];
  }).filter(Boolean));
}

/** A point as it is seen: turned about the vertical, then tilted; positive depth is in front. */
function seen([x, y, z], { turn, tilt }) {
  const [a, b] = [(turn * Math.PI) / 180, (tilt * Math.PI) / 180];
  const [right, away] = [x * Math.cos(a) - y * Math.sin(a), x * Math.sin(a) + y * Math.cos(a)];
  return [right, z * Math.cos(b) + away * Math.sin(b), z * Math.sin(b) - away * Math.cos(b)];
}

const circle = (make) => Array.from({ length: 73 }, (_, place) => make((place * Math.PI) / 36));

function ball(palette, view, theory, seeds) {
  const line = (points, look) => {
    const flat = points.map((point) => seen(point, view));
    return { type: "scatter", mode: "lines", x: flat.map(([x]) => x), y: flat.map(([, y]) => y), hoverinfo: "skip", showlegend: false, ...look };
  };
  const thin = { line: { color: palette.line, width: 1 } };
  const wires = [0.25, 0.5, 0.75].map((share) => line(circle((angle) => [Math.cos(angle) * Math.sin(share * Math.PI / 2), Math.sin(angle) * Math.sin(share * Math.PI / 2), Math.cos(share * Math.PI / 2)]), thin));
  const ribs = [0, 1, 2, 3].map((quarter) => line(Array.from({ length: 37 }, (_, place) => {
    const [angle, rise] = [(quarter * Math.PI) / 4, (place * Math.PI) / 36];
    return [Math.cos(angle) * Math.cos(rise), Math.sin(angle) * Math.cos(rise), Math.sin(rise)];
  }), thin));
  const rim = line(circle((angle) => [Math.cos(angle), Math.sin(angle), 0]), { line: { color: palette.soft, width: 1.5 } });
  const outline = { type: "scatter", mode: "lines", x: circle(Math.cos), y: circle(Math.sin), line: { color: palette.line, width: 1.5 }, hoverinfo: "skip", showlegend: false };
  const measured = seeds.filter((one) => one.data.cosine).flatMap(paths).slice(0, MOST_LINES);
  const predicted = theory?.data.cosine ? paths(theory).slice(0, 8) : [];
  const simulated = measured.map((path, place) => line(path, { line: { color: palette.series[1], width: 1.5 }, opacity: 0.6, name: "seeds", showlegend: place === 0 }));
  const lines = predicted.map((path, place) => line(path, { line: { color: palette.accent, width: 4 }, name: "theory", showlegend: place === 0 }));
  const ends = [...predicted.map((path) => [path.at(-1), palette.accent]), ...measured.map((path) => [path.at(-1), palette.series[1]])].filter(([point]) => point);
  const flat = ends.map(([point]) => seen(point, view));
  const dots = { type: "scatter", mode: "markers", x: flat.map(([x]) => x), y: flat.map(([, y]) => y), marker: { color: ends.map(([, colour]) => colour), size: 8 }, hoverinfo: "skip", showlegend: false };
  const rank = (theory ?? seeds[0]).direction?.length ?? 1;
  const poles = (rank > 1 ? [["h1", [1, 0, 0]], ["h2", [0, 1, 0]]] : [["h1", [1, 0, 0]]]).map(([name, point]) => {
    const [x, y] = seen(point.map((part) => 1.1 * part), view);
    return { x, y, text: name, showarrow: false, font: { color: palette.ink, size: 16 } };
  });
  const hidden = (low, high) => ({ visible: false, range: [low, high] });
  return {
    traces: [outline, ...wires, ...ribs, rim, ...simulated, ...lines, dots],
    layout: { xaxis: { ...hidden(-1.3, 1.3), scaleanchor: "y" }, yaxis: hidden(-1.1, 1.15), annotations: poles, margin: { l: 8, r: 8, t: 8, b: 24 }, legend: { orientation: "h", y: -0.02 } },
    label: `Trajectories of ${measured.length} simulated and ${predicted.length} predicted neurons on the sphere`,
    headers: ["Neuron", "cosine with h1, start", "end", "cosine with h2, start", "end"],
    rows: [...predicted.map((path, place) => [`theory ${place + 1}`, path]), ...measured.map((path, place) => [`run ${place + 1}`, path])].filter(([, path]) => path.length)
      .map(([name, path]) => [name, path[0][0], path.at(-1)[0], rank > 1 ? path[0][1] : null, rank > 1 ? path.at(-1)[1] : null]),
  };
}
