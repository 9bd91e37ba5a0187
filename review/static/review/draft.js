"use strict";
// Keeps what is typed: in the browser at once, on the server soon after. A step is sent only when
// its draft has reached the server, so a lost session or a stopped server loses nothing.

import { send } from "./again.js";
import { clock } from "./clock.js";

const PAUSE = 700;
const LONGEST_WAIT = 30_000;
const RENEW = 4 * 60_000;
const WARN = 2 * 60_000;

const form = document.querySelector("form[data-draft]");
const state = document.querySelector("[data-save-state]");
const until = document.querySelector("[data-until]");
const warning = document.querySelector("[data-lease-warning]");

if (form) keep();

function keep() {
  const name = `medrcube-draft-${form.dataset.draftName}`;
  let changed = false;
  let timer = 0;
  let wait = 1000;
  let running = null;
  let leaving = false;
  let left = false;
  let active = false;
  const initial = new Map([...form.elements].filter(isField).map(asLoaded));

  restore();
  if (!changed && isTouched()) note(); // typed while this script was on its way

  form.addEventListener("input", note);
  form.addEventListener("change", note);
  form.addEventListener("submit", (event) => leave(event, form));
  document.querySelector("form[data-leaves]")?.addEventListener("submit", (event) => {
    leave(event, event.target);
  });
  window.addEventListener("beforeunload", (event) => {
    if (changed && !leaving) event.preventDefault();
  });
  window.addEventListener("online", () => changed && save());
  for (const kind of ["pointermove", "keydown", "wheel"]) {
    document.addEventListener(kind, () => (active = true), { passive: true });
  }
  // Whoever looks at an image for long still has it; whoever went away is told in time.
  setInterval(() => {
    if (active) save();
    active = false;
  }, RENEW);
  setInterval(() => {
    const ends = Date.parse(until.dataset.until) - Date.now() < WARN;
    if (ends && active) save();
    warning.hidden = !ends;
  }, 10_000);

  function note() {
    changed = true;
    remember(written());
    state.textContent = "not saved yet";
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
  }

  // One request at a time; gives whether everything is on the server now.
  function save() {
    clearTimeout(timer);
    running ??= attempt().finally(() => {
      running = null;
    });
    return running;
  }

  async function attempt() {
    changed = false;
    let reply;
    try {
      reply = await send(form.dataset.draft, new FormData(form));
    } catch {
      return again();
    }
    if (reply.status === 409) return lost(await reply.json());
    if (!reply.ok) return again();
    const { saved, until: end } = await reply.json();
    wait = 1000;
    until.textContent = clock(end);
    until.dataset.until = end;
    warning.hidden = true;
    if (changed) return attempt();
    remember(null);
    show(`saved ${clock(saved)}`);
    return true;
  }

  function again() {
    changed = true;
    show("not saved, trying again", "bad");
    timer = setTimeout(save, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT);
    return false;
  }

  // The text is on the server, but the item is somebody else's now.
  function lost({ error }) {
    changed = false;
    remember(null);
    show(error, "bad");
    return true;
  }

  function show(text, kind = "") {
    state.textContent = text;
    state.classList.toggle("bad", kind === "bad");
  }

  async function leave(event, sent) {
    if (leaving && !left) {
      left = true;
      return;
    }
    event.preventDefault();
    if (left) return;
    const button = event.submitter;
    clearTimeout(timer);
    if (running) await running;
    if (!(await save())) return;
    leaving = true;
    if (button) sent.requestSubmit(button);
    else sent.requestSubmit();
  }

  // A browser that keeps nothing (a private window) still has the server.
  function remember(entries) {
    try {
      if (entries) localStorage.setItem(name, JSON.stringify(entries));
      else localStorage.removeItem(name);
    } catch {
      state.title = "this browser keeps no copy";
    }
  }

  function recall() {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "[]");
    } catch {
      return [];
    }
  }

  function written() {
    const data = new FormData(form);
    data.delete("csrfmiddlewaretoken");
    data.delete("milliseconds");
    return [...data.entries()];
  }

  function isField(element) {
    return element.matches('textarea, select, input[type="text"]');
  }

  function asLoaded(element) {
    const chosen = [...(element.options ?? [])].find((option) => option.defaultSelected);
    return [element, element.options ? (chosen?.value ?? "") : element.defaultValue];
  }

  function isTouched() {
    return [...form.elements].some((element) =>
      element.type === "radio" || element.type === "checkbox"
        ? element.checked !== element.defaultChecked
        : isField(element) && element.value !== initial.get(element),
    );
  }

  // What the browser still holds is what the server never got.
  function restore() {
    const mine = recall().filter(([field]) => form.elements[field]);
    if (!mine.length) return;
    for (const element of form.elements) {
      if (element.type === "radio" || element.type === "checkbox") {
        element.checked = mine.some(([n, v]) => n === element.name && v === element.value);
      } else if (isField(element)) {
        element.value = mine.find(([n]) => n === element.name)?.[1] ?? element.value;
      }
    }
    note();
    show("put back from this browser");
    document.dispatchEvent(new Event("draft-restored"));
  }
}
