"use strict";
// Looks at the image: size, place, grey values, mark. Changes what is shown, never any answer.

import { originalOf } from "./original.js";

const STEP = 1.25;
const SHIFT = 60;
const LARGEST = 32;

const root = document.querySelector("[data-viewer]");
const stage = root.querySelector(".stage");
const layers = root.querySelector(".layers");
const plain = layers.querySelector(".plain");
const marked = layers.querySelector(".marked");
const note = root.querySelector("[data-note]");
const view = { scale: 1, x: 0, y: 0, whole: true };
const grey = { invert: false, brightness: 100, contrast: 100 };
const mark = { shown: marked !== null && !marked.hidden };
const original = root.querySelector("[data-original]") ? originalOf(root, layer) : null;
let dragsWindow = false;

// What lies on top: the item's own image, or its original pixels; a mark belongs to one slice.
function layer() {
  const deep = Boolean(original?.canvas.dataset.painted) && original.active();
  if (original) {
    original.canvas.hidden = !deep;
    const isMarked = mark.shown || marked === null;
    original.drawn.hidden = !(deep && isMarked && original.isOwnSlice() && original.drawn.src);
  }
  if (marked) marked.hidden = !mark.shown || deep;
}

function fitting() {
  return Math.min(stage.clientWidth / plain.width, stage.clientHeight / plain.height);
}

function show() {
  const width = plain.width * view.scale;
  const height = plain.height * view.scale;
  view.x = held(view.x, stage.clientWidth, width);
  view.y = held(view.y, stage.clientHeight, height);
  layers.style.setProperty("transform", `translate(${view.x}px, ${view.y}px) scale(${view.scale})`);
  layers.classList.toggle("pixels", view.scale > 2);
  stage.classList.toggle("whole", view.whole);
  original?.scale(view.scale);
  root.querySelector("[data-zoom]").textContent = `${Math.round(view.scale * 100)} %`;
}

// An image smaller than the stage stands in its middle; a larger one never leaves it.
function held(place, room, size) {
  return size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, place));
}

function whole() {
  view.scale = fitting();
  view.whole = true;
  show();
}

// Keeps the point (x, y) of the stage where it is.
function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const least = Math.min(fitting(), 1);
  const scale = Math.min(LARGEST, Math.max(least, view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  view.whole = Math.abs(scale - fitting()) < 1e-6;
  show();
}

function pan(x, y) {
  view.x += x;
  view.y += y;
  show();
}

// One image pixel per screen pixel, whatever the browser's own zoom is.
function pixelExact() {
  zoom(1 / devicePixelRatio / view.scale);
}

function reset() {
  Object.assign(grey, { invert: false, brightness: 100, contrast: 100 });
  for (const name of ["brightness", "contrast"]) {
    const slider = root.querySelector(`[data-${name}]`);
    if (slider) slider.value = 100;
  }
  toggle("invert", false);
  original?.reset();
  shade();
  whole();
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen();
}

document.addEventListener("fullscreenchange", () => {
  toggle("full-screen", Boolean(document.fullscreenElement));
});

function shade() {
  const filter = [`brightness(${grey.brightness}%)`, `contrast(${grey.contrast}%)`];
  if (grey.invert) filter.unshift("invert(1)");
  layers.style.setProperty("filter", filter.join(" "));
}

function toggle(name, pressed) {
  root.querySelector(`[data-action="${name}"]`).setAttribute("aria-pressed", String(pressed));
}

const actions = {
  "zoom-in": () => zoom(STEP),
  "zoom-out": () => zoom(1 / STEP),
  "zoom-reset": whole,
  "pan-left": () => pan(SHIFT, 0),
  "pan-right": () => pan(-SHIFT, 0),
  "pan-up": () => pan(0, SHIFT),
  "pan-down": () => pan(0, -SHIFT),
  invert: () => {
    grey.invert = !grey.invert;
    toggle("invert", grey.invert);
    shade();
  },
  overlay: () => {
    mark.shown = !mark.shown;
    layer();
    toggle("overlay", mark.shown);
  },
  "zoom-pixel": pixelExact,
  "full-screen": fullScreen,
  reset,
  "window-drag": () => {
    dragsWindow = !dragsWindow;
    toggle("window-drag", dragsWindow);
  },
  ...original?.actions,
};

root.querySelector("[data-tools]").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (button) actions[button.dataset.action]();
});

stage.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    if (original?.slices > 1 && !event.ctrlKey) {
      original.turn(Math.sign(event.deltaY));
      return;
    }
    const { left, top } = stage.getBoundingClientRect();
    zoom(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - left, event.clientY - top);
  },
  { passive: false },
);
stage.addEventListener("dblclick", () => (view.whole ? zoom(1 / view.scale) : whole()));

// One pointer moves the image, two make it larger or smaller.
const pointers = new Map();

stage.addEventListener("contextmenu", (event) => original && event.preventDefault());
stage.addEventListener("pointerdown", (event) => {
  stage.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
});
stage.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const other = [...pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
  pointers.set(event.pointerId, event);
  if (!other && original && (dragsWindow || event.buttons === 2)) {
    original.drag(event.clientX - before.clientX, event.clientY - before.clientY);
    return;
  }
  if (!other) {
    pan(event.clientX - before.clientX, event.clientY - before.clientY);
    return;
  }
  const { left, top } = stage.getBoundingClientRect();
  const x = (event.clientX + other.clientX) / 2 - left;
  const y = (event.clientY + other.clientY) / 2 - top;
  zoom(distance(event, other) / Math.max(1, distance(before, other)), x, y);
});
for (const name of ["pointerup", "pointercancel"]) {
  stage.addEventListener(name, (event) => pointers.delete(event.pointerId));
}

function distance(a, b) {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}

for (const name of ["brightness", "contrast"]) {
  root.querySelector(`[data-${name}]`)?.addEventListener("input", (event) => {
    grey[name] = Number(event.target.value);
    shade();
  });
}

plain.addEventListener("error", () => {
  note.textContent = "The image cannot be loaded. Reload the page; your input is kept.";
});

root.querySelector("[data-tools]").hidden = false;
root.querySelector("[data-without-script]").remove();
stage.classList.add("live");
new ResizeObserver(() => (view.whole ? whole() : show())).observe(stage);
