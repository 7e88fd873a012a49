// Pictures: plotly in the page's colours, each with a table behind it and as SVG or PNG to take along.

import { announce, el, fill, perFrame, save, table } from "./dom.js";

const shown = new Set();

/** The page's colours as they are now, light or dark. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"), soft: of("soft"), line: of("line"), paper: of("card"), accent: of("accent"), bound: of("soft"),
    trivial: of("trivial"), easy: of("easy"), hard: of("hard"),
    series: [1, 2, 3, 4, 5, 6].map((place) => of(`series-${place}`)),
  };
}

/** All pictures again, in other colours. */
export const recolour = () => shown.forEach((picture) => picture.redraw());

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Ticks of a logarithmic axis at powers of ten, about ten at most: plotly's own would need inline styles. */
export function decades(low, high) {
  const every = Math.max(1, Math.ceil((high - low) / 10));
  const powers = Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, place) => Math.ceil(low) + place).filter((power) => power % every === 0);
  const raised = (power) => `10${power < 0 ? "⁻" : ""}${String(Math.abs(power)).replace(/./g, (digit) => RAISED[digit])}`;
  return { type: "log", range: [low, high], tickvals: powers.map((power) => 10 ** power), ticktext: powers.map((power) => (power === 0 ? "1" : power === 1 ? "10" : raised(power))) };
}

/** A part of the page that shows theory and seeds: `draw(theory, seeds)` is called when the theory is there, when runs begin,
 * and at most once a frame as seeds come. */
export function ofTheoryAndSeeds(element, draw) {
  let [theory, seeds] = [null, []];
  const again = () => draw(theory, seeds);
  const soon = perFrame(again);
  return {
    element,
    again,
    theory(record) { theory = record; again(); },
    begin() { seeds = []; again(); },
    seed(record) { seeds.push(record); soon(); },
  };
}

/** One picture with its heading, its table and its files. */
export class Picture {
  constructor({ title, name, height = 340 }) {
    this.name = name;
    this.height = height;
    this.plot = el("div", { class: "plot", role: "img", id: `plot-${name}` });
    this.plot.style.minHeight = `${height}px`;
    this.behind = el("div", { class: "behind", hidden: true, id: `table-${name}` });
    this.button = el("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": `table-${name}`,
      onclick: () => this.turn() }, "Table");
    const file = (format) => el("button", { type: "button", class: "quiet", "aria-label": `${title} as ${format}`,
      onclick: () => this.file(format.toLowerCase()) }, format);
    this.heading = el("h2", {}, title);
    this.element = el("figure", { class: "picture", id: `picture-${name}` },
      el("figcaption", {}, this.heading, el("div", { class: "tools" }, this.button, file("SVG"), file("PNG"))),
      this.plot, this.behind);
    new ResizeObserver(() => this.fit()).observe(this.plot);
    shown.add(this);
  }

  /** `make(colours)` gives { traces, layout, label, caption, headers, rows }; it is called again where colours change. */
  draw(make) {
    this.make = make;
    return this.redraw();
  }

  redraw() {
    if (!this.make || !this.plot.offsetWidth) return null;
    const palette = colours();
    const { traces, layout = {}, label, caption, headers, rows } = this.make(palette);
    this.plot.setAttribute("aria-label", label);
    this.made = { caption: caption ?? label, headers, rows };
    if (!this.behind.hidden) this.fillTable();
    this.width = this.plot.offsetWidth;
    return Plotly.react(this.plot, traces, dressed(layout, palette, this.width, this.height), {
      displayModeBar: false, doubleClick: false, scrollZoom: false, showTips: false,
    });
  }

  fit() {
    if (this.plot.offsetWidth && this.plot.offsetWidth !== this.width) this.redraw();
  }

  clear() {
    this.make = null;
    if (this.plot.data) Plotly.purge(this.plot);
    fill(this.behind);
  }

  fillTable() {
    fill(this.behind, table(this.made.caption, this.made.headers, this.made.rows));
  }

  turn() {
    this.behind.hidden = !this.behind.hidden;
    this.button.setAttribute("aria-expanded", String(!this.behind.hidden));
    if (!this.behind.hidden && this.made) this.fillTable();
  }

  async file(format) {
    if (!this.make) return;
    const address = await Plotly.toImage(this.plot, { format, width: this.width, height: this.height, scale: format === "png" ? 3 : 1 });
    const content = format === "svg" ? decodeURIComponent(address.slice(address.indexOf(",") + 1)) : bytes(address);
    save(`featlab-${this.name}.${format}`, content, format === "svg" ? "image/svg+xml" : "image/png");
    announce(`${this.heading.textContent}: saved as ${format.toUpperCase()}`);
  }
}

function bytes(address) {
  const text = atob(address.slice(address.indexOf(",") + 1));
  return new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))], { type: "image/png" });
}

/** An axis in the page's look. */
function axis(given, palette, size) {
  return {
    color: palette.ink, gridcolor: palette.line, linecolor: palette.soft, zeroline: false, showline: true, ticks: "outside",
    tickcolor: palette.soft, ticklen: 4, fixedrange: true, automargin: true, exponentformat: "e", tickfont: { size },
    minor: { showgrid: false }, ...given, title: { standoff: 8, font: { size }, ...(typeof given?.title === "string" ? { text: given.title } : given?.title) },
  };
}

function dressed(layout, palette, width, height) {
  const size = width < 380 ? 12 : width < 560 ? 13.5 : 15; // on a phone; two beside each other; the last row of a lecture hall
  const { xaxis, yaxis, xaxis2, yaxis2, ...rest } = layout;
  const more = Object.fromEntries(Object.entries({ xaxis2, yaxis2 }).filter(([, value]) => value).map(([name, value]) => [name, axis(value, palette, size)]));
  return {
    width, height, autosize: false, dragmode: false, hovermode: "closest", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 56, r: 16, t: 12, b: 48 }, font: { family: "system-ui, sans-serif", size, color: palette.ink },
    hoverlabel: { bgcolor: palette.paper, bordercolor: palette.soft, font: { color: palette.ink, size } },
    legend: { orientation: "h", y: -0.24, yanchor: "top", x: 0, font: { size: size - 1 } },
    ...rest, xaxis: axis(xaxis, palette, size), yaxis: axis(yaxis, palette, size), ...more,
  };
}
