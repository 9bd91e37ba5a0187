"use strict";
// Presses for the reviewer what a key stands for. Every action is a button or choice of the page.

const work = document.querySelector("[data-work]");
const help = document.querySelector("#keys-help");
const single = work.dataset.singleKeys === "on";
const actions = new Map(
  work.dataset.keys.split("\n").map((line) => {
    const space = line.indexOf(" ");
    return [line.slice(space + 1).toLowerCase(), line.slice(0, space)];
  }),
);
const OTHERS = 'input[type="radio"], input[type="range"], input[type="checkbox"], summary';

function isTyping(element) {
  const field = 'textarea, select, input:not([type="radio"], [type="checkbox"], [type="range"])';
  return element.matches(field) || element.isContentEditable;
}

// Whether the browser itself has a use for the key where the focus is.
function isTaken(key, element) {
  if (key === "Enter") return element.matches("a, button, summary");
  return key.startsWith("Arrow") && element.matches(OTHERS);
}

function press(action) {
  if (action === "help") {
    help.showModal();
    return true;
  }
  const element = document.querySelector(`[data-action="${action}"]:not([disabled])`);
  if (!element || element.closest("[hidden]")) return false;
  if (element.matches("input")) element.focus();
  if ("onlyFocus" in element.dataset) element.focus();
  else element.click();
  return true;
}

// Shift decides, not the case of the letter: Caps Lock changes no meaning.
function tick(letter) {
  const box = document.querySelector(`input[data-letter="${letter.toUpperCase()}"]`);
  if (!box || box.disabled) return false;
  box.click();
  return true;
}

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(target) || document.querySelector("dialog[open], :popover-open")) return;
  if (event.key.length === 1 && !single) return;
  if (isTaken(event.key, target)) return;
  const isReason = event.shiftKey && /^[a-z]$/i.test(event.key);
  const action = actions.get(event.key.toLowerCase());
  if (isReason ? tick(event.key) : action && press(action)) event.preventDefault();
});

const button = document.querySelector('button[data-action="help"]');
button?.addEventListener("click", () => help.showModal());
