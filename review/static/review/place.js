"use strict";
// Sets places in an image by keys: arrows move a crosshair, Shift moves it farther, Enter sets it.

const STEP = 1;
const FAR = 20;
const AGAIN = "medrcube-place-by-keys";
const SVG = "http://www.w3.org/2000/svg";

for (const frame of document.querySelectorAll(".click")) aimIn(frame);

function aimIn(frame) {
  const image = frame.querySelector("input[type=image]");
  const svg = frame.querySelector("svg");
  const status = document.querySelector("[data-aim]");
  const { width, height } = image;
  const last = [...svg.querySelectorAll("circle.mine")].at(-1);
  const across = width / svg.viewBox.baseVal.width;
  const down = height / svg.viewBox.baseVal.height;
  const place = {
    x: last ? Math.round(last.cx.baseVal.value * across) : Math.floor(width / 2),
    y: last ? Math.round(last.cy.baseVal.value * down) : Math.floor(height / 2),
  };
  const cross = document.createElementNS(SVG, "path");
  cross.classList.add("aim");
  // A screen reader hands arrow keys over to an application, and keeps them from a button.
  frame.setAttribute("role", "application");
  frame.setAttribute("aria-label", "Image in which to set a place");
  image.setAttribute("aria-describedby", "aim-help");
  document.querySelector("#aim-help").hidden = false;

  const moves = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };

  image.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    if (move) aim(...move.map((side) => side * (event.shiftKey ? FAR : STEP)));
    else if (event.key === "Enter") set();
    else return;
    event.preventDefault();
  });
  image.addEventListener("focus", () => {
    if (image.matches(":focus-visible")) aim(0, 0);
  });
  image.addEventListener("blur", () => cross.remove());

  function aim(x, y) {
    place.x = Math.min(Math.max(place.x + x, 0), width - 1);
    place.y = Math.min(Math.max(place.y + y, 0), height - 1);
    const column = (place.x + 0.5) / across;
    const row = (place.y + 0.5) / down;
    const box = svg.viewBox.baseVal;
    cross.setAttribute("d", `M0 ${row}H${box.width}M${column} 0V${box.height}`);
    svg.append(cross);
    const shares = [percent(place.x, width), percent(place.y, height)];
    status.textContent = `${shares[0]} from the left, ${shares[1]} from the top`;
  }

  function percent(pixel, side) {
    return `${((100 * (pixel + 0.5)) / side).toFixed(1)} %`;
  }

  // What a click sends: the pixel of the image as this page shows it.
  function set() {
    for (const axis of ["x", "y"]) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: `${image.name}.${axis}`, value: place[axis] });
      image.form.append(field);
    }
    const button = document.createElement("button");
    Object.assign(button, { type: "submit", formNoValidate: true, hidden: true });
    image.form.append(button);
    sessionStorage.setItem(AGAIN, location.pathname);
    image.form.requestSubmit(button);
  }

  // The page is made anew after each place; who sets them by keys goes on where they were.
  if (image.offsetParent && sessionStorage.getItem(AGAIN) === location.pathname) {
    sessionStorage.removeItem(AGAIN);
    image.focus({ focusVisible: true });
    aim(0, 0);
    status.textContent = `Set. ${document.querySelector("[data-hint]").textContent}`;
  }
}
