"use strict";
// The original pixels of an image: window, neighbouring slices, scale. Until somebody asks for
// another window or slice the item's own image is shown, as models see it.

import { steps } from "./png16.js";

const LEVEL_STEP = 0.05;
const WIDTH_STEP = 1.1;
const LONGEST_BAR = 120;
const SLIDER = 1000;

// Grey of every step under a window, as the build makes images (build/pixels/windowing.py).
export function greys(facts, low, high) {
  const table = new Uint8ClampedArray(65536);
  for (let step = 0; step < table.length; step += 1) {
    const value = step * facts.slope + facts.intercept;
    let shade = value > low ? 255 : 0;
    if (high > low) shade = ((Math.min(Math.max(value, low), high) - low) * 255) / (high - low);
    table[step] = facts.inverted ? 255 - Math.ceil(shade - 0.5) : Math.floor(shade + 0.5);
  }
  return table;
}

// `turned` is called when the layers or the numbers have changed.
export function originalOf(root, turned) {
  const facts = JSON.parse(document.querySelector("#original").textContent);
  const canvas = root.querySelector("[data-original]");
  const drawn = root.querySelector("[data-drawn]");
  const presets = root.querySelector("[data-presets]");
  const note = root.querySelector("[data-note]");
  const told = root.querySelector("[data-window]");
  const level = root.querySelector("[data-level]");
  const width = root.querySelector("[data-width]");
  const kept = new Map();
  let painted = null;
  const shown = { slice: facts.own, low: facts.window[0], high: facts.window[1], own: true };
  const ends = range();
  const whole = Math.max(ends[1] - ends[0], 1e-9);

  Object.assign(canvas.style, {
    left: `${facts.place[0]}px`,
    top: `${facts.place[1]}px`,
    width: `${facts.place[2]}px`,
    height: `${facts.place[3]}px`,
  });
  for (const [name] of facts.presets) presets.append(new Option(name, name));
  for (const slider of [level, width]) Object.assign(slider, { min: 0, max: SLIDER, step: 1 });
  tell();

  // Values that a window may be about.
  function range() {
    const [low, high] = facts.window;
    const all = facts.presets.flatMap(([, from, to]) => [from, to]);
    return [Math.min(low, ...all), Math.max(high, ...all)];
  }

  function active() {
    return !(shown.own && shown.slice === facts.own);
  }

  // Level and width as CT consoles write them: of whole numbers, both ends of a window count
  // (DICOM PS3.3 C.11.2.1.2.1).
  function numbers() {
    const more = facts.unit === "HU" ? 1 : 0;
    return { level: (shown.low + shown.high + more) / 2, width: shown.high - shown.low + more };
  }

  function tell() {
    const now = numbers();
    const unit = facts.unit ? ` ${facts.unit}` : "";
    told.textContent = `L ${plain(now.level)} W ${plain(now.width)}${unit}`;
    level.value = ((now.level - ends[0]) / whole) * SLIDER;
    width.value = Math.sqrt(Math.min(now.width / whole, 1)) * SLIDER;
    const place = root.querySelector("[data-slice]");
    if (!place) return;
    place.textContent = `slice ${shown.slice + 1} of ${facts.count}`;
    root.querySelector('[data-action="slice-own"]').disabled = shown.slice === facts.own;
    root.querySelector('[data-action="slice-previous"]').disabled = shown.slice === 0;
    root.querySelector('[data-action="slice-next"]').disabled = shown.slice === facts.count - 1;
  }

  function plain(number) {
    return String(whole > 50 ? Math.round(number) : Number(number.toPrecision(3)));
  }

  function plane(slice) {
    if (!kept.has(slice)) kept.set(slice, load(canvas.dataset.slices.replace(/0\/$/, `${slice}/`)));
    return kept.get(slice);
  }

  async function load(address) {
    const reply = await fetch(address);
    if (!reply.ok) throw new Error(String(reply.status));
    return steps(await reply.arrayBuffer());
  }

  async function show() {
    tell();
    turned();
    if (!active()) return;
    const wanted = { ...shown };
    let pixels;
    try {
      pixels = await plane(wanted.slice);
    } catch {
      kept.delete(wanted.slice);
      reset();
      note.textContent = "The original pixels cannot be loaded; the item's own image is shown.";
      return;
    }
    if (JSON.stringify(wanted) !== JSON.stringify(shown)) return;
    paint(pixels, greys(facts, shown.low, shown.high));
    if (shown.slice === facts.own && !drawn.src) drawn.src = drawn.dataset.drawn;
    painted = shown.slice;
    canvas.dataset.painted = `${shown.slice} ${shown.low} ${shown.high}`;
    turned();
    for (const near of [shown.slice - 1, shown.slice + 1]) {
      if (near >= 0 && near < facts.count) plane(near).catch(() => kept.delete(near));
    }
  }

  function paint({ rows, columns, values }, table) {
    if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const words = new Uint32Array(image.data.buffer);
    for (let place = 0; place < values.length; place += 1) {
      words[place] = (table[values[place]] * 0x010101) | 0xff000000;
    }
    context.putImageData(image, 0, 0);
  }

  function window(low, high, name = null) {
    Object.assign(shown, { low, high, own: name === "" });
    if (name === null && !presets.querySelector("[data-free]")) {
      const free = new Option("Own window", "free");
      free.dataset.free = "";
      presets.append(free);
    }
    presets.value = name ?? "free";
    note.textContent = "";
    show();
  }

  function preset(name) {
    const [, low, high] = facts.presets.find(([known]) => known === name) ?? ["", ...facts.window];
    window(low, high, name);
  }

  function change(by, factor) {
    const middle = (shown.low + shown.high) / 2 + by;
    const half = (Math.max(shown.high - shown.low, whole / 1e4) / 2) * factor;
    window(middle - half, middle + half);
  }

  function turn(by) {
    const slice = Math.min(Math.max(shown.slice + by, 0), facts.count - 1);
    if (slice === shown.slice) return;
    shown.slice = slice;
    note.textContent = slice === facts.own ? "" : "Models see only the item’s slice.";
    show();
  }

  function reset() {
    shown.slice = facts.own;
    preset("");
  }

  // Length that is round in mm and fits below the image.
  function scale(zoom) {
    const place = root.querySelector("[data-scale]");
    const text = place.querySelector("[data-scale-text]");
    place.hidden = false;
    if (!facts.spacing) {
      text.textContent = "no scale: no file says the spacing";
      return;
    }
    const millimetres = (facts.spacing[1] * facts.columns) / facts.place[2] / zoom;
    const most = millimetres * LONGEST_BAR;
    const decade = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((part) => part * decade).find((part) => part <= most);
    place.querySelector(".bar").style.setProperty("width", `${length / millimetres}px`);
    const named = length >= 10 ? `${length / 10} cm` : `${length} mm`;
    text.textContent = facts.projection ? `${named} at the detector` : named;
  }

  presets.addEventListener("change", () => {
    if (presets.value !== "free") preset(presets.value);
  });
  for (const slider of [level, width]) {
    slider.addEventListener("input", () => {
      const half = ((width.value / SLIDER) ** 2 * whole) / 2;
      const middle = ends[0] + (level.value / SLIDER) * whole;
      window(middle - half, middle + half);
    });
  }

  return {
    active,
    canvas,
    drawn,
    isOwnSlice: () => painted === facts.own,
    slices: facts.count,
    turn,
    reset,
    scale,
    // Right is wider, down is brighter, as on a workstation.
    drag: (x, y) => change((-y * whole) / 500, 1.01 ** x),
    actions: {
      "slice-previous": () => turn(-1),
      "slice-next": () => turn(1),
      "slice-own": () => turn(facts.own - shown.slice),
      "preset-next": () => {
        const names = ["", ...facts.presets.map(([name]) => name)];
        preset(names[(names.indexOf(presets.value) + 1) % names.length]);
      },
      "level-down": () => change(-LEVEL_STEP * (shown.high - shown.low), 1),
      "level-up": () => change(LEVEL_STEP * (shown.high - shown.low), 1),
      "width-down": () => change(0, 1 / WIDTH_STEP),
      "width-up": () => change(0, WIDTH_STEP),
    },
  };
}
