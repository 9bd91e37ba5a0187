"use strict";
// Small helps of the two forms. What they do can be done without them.

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;
document.querySelector("[data-error]")?.focus();

// How long the answer took, not counting time in which the page was out of sight.
const stopwatch = document.querySelector("[data-stopwatch]");
let shown = performance.now();
let spent = 0;

document.addEventListener("visibilitychange", () => {
  if (document.hidden) spent += performance.now() - shown;
  else shown = performance.now();
});
stopwatch?.form.addEventListener("submit", () => {
  stopwatch.value = Math.round(spent + performance.now() - shown);
});

// Reasons are asked of those who do not accept.
const reasons = document.querySelector("#reasons");
const decisions = document.querySelectorAll('input[name="decision"]');

function askReasons() {
  const accepts = document.querySelector('input[name="decision"]:checked')?.value === "accept";
  reasons.classList.toggle("unasked", accepts && !reasons.querySelector(":checked"));
}

for (const choice of decisions) choice.addEventListener("change", askReasons);
if (reasons) askReasons();

// Answers every open line with the good answer; what was answered stays.
document.querySelector("[data-all-well]")?.addEventListener("click", (event) => {
  const form = event.target.form ?? event.target.closest("form");
  for (const group of form.querySelectorAll("fieldset.group")) {
    const first = group.querySelector("input");
    if (group.querySelector(":checked")) continue;
    first.checked = true;
    first.dispatchEvent(new Event("change", { bubbles: true }));
  }
});
