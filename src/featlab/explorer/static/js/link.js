// The link: a curve of one direction; of more, a map of two of them with a slice that can be dragged, the others held.

import { latest } from "./api.js";
import { debounce, el, fill, short, slider } from "./dom.js";
import { Picture } from "./plots.js";

const [CURVE, MAP] = [321, 65]; // a map from -3.2 to 3.2 in steps of 0.1, which are those of the sliders
const PAUSE = 60;

export function linkPart() {
  const picture = new Picture({ title: "The link", name: "link", height: 360 });
  const slice = new Picture({ title: "A slice of it", name: "slice", height: 260 });
  const controls = el("div");
  const element = el("section", { class: "card", "aria-label": "The link" }, picture.element, controls);
  slice.element.hidden = true;
  const [ask, askSlice] = [latest(), latest()];
  let [text, names, axes, fixed, map, cut] = [null, [], [], {}, null, 0];

  async function look() {
    const body = { target: text, axes, fixed: Object.fromEntries(Object.entries(fixed).filter(([name]) => !axes.includes(name))), resolution: axes.length === 1 ? CURVE : MAP };
    try {
      const answer = await ask("link", body);
      if (answer) show(answer);
    } catch (fault) {
      fill(controls, el("p", { class: "notice fault" }, fault.message));
    }
  }
  const soon = debounce(look, PAUSE);

  /** The slice itself, finer than a row of the map and broken where the function jumps, when the line rests. */
  async function lookAtSlice() {
    if (!map) return;
    const at = map.axes[1].values[nearest(map.axes[1].values, cut)];
    const held = { ...map.fixed, [map.axes[1].name]: at };
    try {
      const answer = await askSlice("link", { target: text, axes: [map.axes[0].name], fixed: held, resolution: CURVE });
      if (answer && map) slice.draw((palette) => curve(answer.axes[0], answer.values, inWords(answer.fixed), palette));
    } catch (fault) {
      fill(controls, el("p", { class: "notice fault" }, fault.message));
    }
  }
  const sliceSoon = debounce(lookAtSlice, PAUSE);

  function show(answer) {
    map = answer.axes.length === 2 ? answer : null;
    slice.element.hidden = !map;
    picture.element.classList.toggle("drag", Boolean(map));
    askSlice.stop();
    const held = inWords(answer.fixed);
    if (!map) return picture.draw((palette) => curve(answer.axes[0], answer.values, held, palette));
    picture.draw((palette) => heat(map, cut, held, palette));
    drawSlice(held);
    return sliceSoon();
  }

  function drawSlice(held) {
    const row = nearest(map.axes[1].values, cut);
    slice.draw((palette) => curve(map.axes[0], map.values[row], [`${map.axes[1].name} = ${short(map.axes[1].values[row], 3)}`, held].filter(Boolean).join(", "), palette));
  }

  function move(value) {
    cut = value;
    if (map) show(map);
  }

  /** Selects for the two axes, a slider for the slice, one for each direction that is held. */
  function dress() {
    if (names.length < 2) return fill(controls);
    const chosen = (place, label) => {
      const select = el("select", { id: `axis-${place}`, onchange: () => {
        const other = axes[1 - place];
        axes[place] = select.value;
        if (other === select.value) axes[1 - place] = names.find((name) => name !== select.value);
        dress();
        soon();
      } }, names.map((name) => el("option", { value: name, selected: name === axes[place] }, name)));
      return el("div", { class: "field" }, el("label", { for: select.id }, label), select);
    };
    const sliceSlider = slider(`Slice at ${axes[1]}`, { id: "slice", min: -3, max: 3, step: 0.1, value: cut, shown: (value) => value.toFixed(1), moved: move });
    picture.sliceSlider = sliceSlider;
    const others = names.filter((name) => !axes.includes(name)).slice(0, 6).map((name) => slider(`${name} held at`, {
      id: `hold-${name}`, min: -3, max: 3, step: 0.1, value: fixed[name] ?? 1, shown: (value) => value.toFixed(1), moved: (value) => { fixed[name] = value; soon(); } }));
    return fill(controls, el("div", { class: "two" }, chosen(0, "Across"), chosen(1, "Upwards")), sliceSlider, others);
  }

  draggable(picture, () => map, (value) => { move(value); picture.sliceSlider?.set(value); });
  return {
    element,
    slice: slice.element,
    tell(parsed) {
      if (parsed.text === text) return;
      [text, fixed, cut] = [parsed.text, {}, 1];
      names = Array.from({ length: parsed.rank }, (_, place) => `h${place + 1}`);
      axes = names.slice(0, 2);
      dress();
      soon();
    },
    again: soon,
  };
}

const nearest = (values, wanted) => values.reduce((best, value, place) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? place : best), 0);

const inWords = (held) => Object.entries(held).map(([name, value]) => `${name} = ${short(value, 3)}`).join(", ");

/** What is said above a picture, at its right. */
const above = (words) => (words ? [{ x: 1, y: 1.02, xref: "paper", yref: "paper", xanchor: "right", yanchor: "bottom", showarrow: false, text: words }] : []);

function curve(axis, values, held, palette) {
  const few = axis.values.map((x, place) => [x, values[place]]).filter((_, place) => place % Math.ceil(axis.values.length / 33) === 0);
  return {
    traces: [{ type: "scatter", mode: "lines", x: axis.values, y: values, line: { color: palette.accent, width: 3 }, connectgaps: false, hovertemplate: `${axis.name} = %{x:.3g}<br>%{y:.4g}<extra></extra>` }],
    layout: { xaxis: { title: axis.name }, yaxis: { title: "E[y | h]" }, annotations: above(held), margin: { l: 56, r: 16, t: held ? 32 : 12, b: 48 }, showlegend: false },
    label: `The mean label as a function of ${axis.name}${held && `, with ${held}`}`, headers: [axis.name, "mean label"], rows: few,
  };
}

/** Colours from blue over paper to orange, as large as the values; one colour where all are alike. */
function painted(values, largest, dark) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [values[0].length, values.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const ends = dark ? [[94, 160, 235], [26, 30, 36], [240, 172, 92]] : [[31, 95, 168], [250, 250, 250], [194, 112, 26]];
  values.forEach((row, y) => row.forEach((value, x) => {
    const share = value === null ? 0 : Math.max(-1, Math.min(1, value / largest));
    const colour = ends[1].map((middle, part) => middle + Math.abs(share) * (ends[share < 0 ? 0 : 2][part] - middle));
    const start = 4 * ((canvas.height - 1 - y) * canvas.width + x);
    image.data.set([...colour, value === null ? 0 : 255], start);
  }));
  context.putImageData(image, 0, 0);
  return canvas.toDataURL("image/png");
}

function heat({ axes: [across, up], values }, cut, held, palette) {
  const sizes = values.flat().filter((value) => value !== null).map(Math.abs).sort((one, other) => one - other);
  const largest = sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  const half = (across.values[1] - across.values[0]) / 2;
  const [low, high] = [across.values[0] - half, across.values.at(-1) + half];
  const every = (list) => list.map((_, place) => place).filter((place) => place % 8 === 0);
  const points = every(up.values).flatMap((y) => every(across.values).map((x) => [across.values[x], up.values[y], values[y][x]]));
  return {
    traces: [{ type: "scatter", mode: "markers", x: points.map(([x]) => x), y: points.map(([, y]) => y), text: points.map(([, , value]) => short(value, 3)),
      marker: { size: 18, color: "rgba(0,0,0,0)" }, hovertemplate: `${across.name} = %{x:.2f}, ${up.name} = %{y:.2f}<br>mean label %{text}<extra></extra>` }],
    layout: {
      xaxis: { title: across.name, range: [low, high], showgrid: false, constrain: "domain" }, yaxis: { title: up.name, range: [low, high], showgrid: false, scaleanchor: "x", constrain: "domain" }, showlegend: false,
      images: [{ source: painted(values, largest, dark), xref: "x", yref: "y", x: low, y: high, sizex: high - low, sizey: high - low, sizing: "stretch", layer: "below" }],
      shapes: [{ type: "line", x0: low, x1: high, y0: cut, y1: cut, line: { color: palette.ink, width: 2, dash: "dash" } }],
      annotations: above(`blue −${short(largest, 2)} … orange +${short(largest, 2)}${held && `; ${held}`}`),
      margin: { l: 56, r: 16, t: 32, b: 48 },
    },
    label: `Map of the mean label over ${across.name} and ${up.name}${held && `, with ${held}`}; the dashed line is the slice below`,
    headers: [`${up.name} \\ ${across.name}`, ...every(across.values).map((x) => short(across.values[x], 2))],
    rows: every(up.values).map((y) => [short(up.values[y], 2), ...every(across.values).map((x) => values[y][x])]),
  };
}

/** The dashed line of a map follows the pointer that drags it. */
function draggable(picture, active, moved) {
  const at = (event) => {
    const axis = picture.plot._fullLayout?.yaxis;
    if (!axis) return;
    const value = axis.p2d(event.clientY - picture.plot.getBoundingClientRect().top - axis._offset);
    moved(Math.max(-3, Math.min(3, Math.round(10 * value) / 10)));
  };
  picture.plot.addEventListener("pointerdown", (event) => {
    if (!active()) return;
    picture.plot.setPointerCapture(event.pointerId);
    at(event);
  }, true);
  picture.plot.addEventListener("pointermove", (event) => { if (active() && event.buttons) at(event); }, true);
}
