"use strict";
// Another wording: offered to those who revise, its item rules told by the server while they type.

import { send } from "./again.js";

const PAUSE = 400;
const panel = document.querySelector("[data-wording]");
const opener = document.querySelector("[data-propose]");
const told = panel?.querySelector("[data-flaws]");
const mark = opener?.querySelector("[data-proposes]");
let timer = 0;
let asked = 0;

if (panel) offer();

function offer() {
  panel.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
    show();
  });
  panel.querySelector("[data-restore]").addEventListener("click", restore);
  for (const choice of document.querySelectorAll('input[name="decision"]')) {
    choice.addEventListener("change", show);
  }
  document.addEventListener("draft-restored", begin);
  begin();
}

function begin() {
  show();
  if (isChanged()) ask();
}

function texts() {
  return [...panel.querySelectorAll("textarea")];
}

function isChanged() {
  const moved = !panel.querySelector("input[data-was]").checked;
  return moved || texts().some((text) => text.value.trim() !== text.dataset.was.trim());
}

// What is written stays in sight, also where another decision is chosen meanwhile.
function show() {
  const revise = document.querySelector('input[name="decision"][value="revise"]').checked;
  opener.hidden = !revise && !isChanged();
  if (isChanged()) return;
  mark.hidden = true;
  told.replaceChildren();
}

function restore() {
  for (const text of texts()) text.value = text.dataset.was;
  panel.querySelector("input[data-was]").checked = true;
  panel.querySelector("textarea").dispatchEvent(new Event("input", { bubbles: true }));
}

async function ask() {
  const number = ++asked;
  let rules;
  try {
    const reply = await send(panel.dataset.wording, new FormData(panel.closest("form")));
    if (!reply.ok) throw new Error(reply.status);
    rules = await reply.json();
  } catch {
    rules = { changed: true, flaws: [], error: "The rules could not be checked; they are checked when you submit." };
  }
  if (number === asked) tell(rules);
}

function tell({ changed, error, flaws }) {
  mark.hidden = !changed;
  mark.textContent = flaws.length ? `${flaws.length} to look at` : "written";
  mark.classList.toggle("open", Boolean(error || flaws.length));
  told.replaceChildren();
  if (!changed) return;
  const words = document.createElement("p");
  words.textContent = error ?? (flaws.length ? "" : "No item rule is broken.");
  const list = document.createElement("ul");
  for (const flaw of flaws) {
    const line = document.createElement("li");
    const level = document.createElement("b");
    level.textContent = flaw.level === "error" ? "Error: " : "Warning: ";
    line.append(level, `${flaw.message} (${flaw.rule})`);
    list.append(line);
  }
  told.append(flaws.length ? list : words);
}
