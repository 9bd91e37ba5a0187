"use strict";
// In a field for a key, pressing the key is enough.

for (const input of document.querySelectorAll("[data-key-choice]")) {
  input.addEventListener("keydown", (event) => {
    const leaves = ["Tab", "Escape", "Shift", "Control", "Alt", "Meta", "AltGraph"];
    if (leaves.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.value = event.key;
  });
}
