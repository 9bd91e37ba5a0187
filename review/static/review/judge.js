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
const checklist = document.querySelector("[data-checklist]");

function askReasons() {
  const decision = document.querySelector('input[name="decision"]:checked')?.value ?? "accept";
  document.querySelector(".attested")?.toggleAttribute("hidden", decision !== "accept");
  checklist.open = decision === "accept" || checklist.querySelector(":checked") !== null;
  reasons.hidden = decision === "accept" && !reasons.querySelector(":checked");
}

if (reasons) {
  for (const choice of decisions) choice.addEventListener("change", askReasons);
  reasons.addEventListener("change", askReasons);
  document.addEventListener("draft-restored", askReasons);
  askReasons();
}

// Nobody confirms what was never on their screen: whoever accepts is first shown the rest of it,
// once.
const unread = document.querySelector("[data-unread]");
const unseen = new Set(unread ? document.querySelectorAll("[data-attested]") : []);

function isOnScreen(element) {
  const { top, bottom, left, width, height } = element.getBoundingClientRect();
  const front = document.elementFromPoint(left + width / 2, top + height / 2);
  return height > 0 && top >= 0 && bottom <= window.innerHeight && element.contains(front);
}

function lookAgain() {
  for (const element of unseen) if (isOnScreen(element)) unseen.delete(element);
}

if (unread) {
  addEventListener("scroll", lookAgain, { passive: true, capture: true });
  unread.closest("form").addEventListener("submit", (event) => {
    lookAgain();
    const accepts = document.querySelector('input[name="decision"]:checked')?.value === "accept";
    if (!accepts || !unseen.size) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    checklist.open = true;
    unread.hidden = false;
    [...unseen].at(0).scrollIntoView({ block: "center" });
    unseen.clear();
  });
}

// What acts at once for everybody is asked once more.
const grave = document.querySelector("#grave");

reasons?.addEventListener("change", (event) => {
  const box = event.target;
  if (!box.checked || !box.dataset.grave) return;
  grave.querySelector("[data-grave-text]").textContent = box.dataset.grave;
  grave.returnValue = "no";
  grave.addEventListener(
    "close",
    () => {
      if (grave.returnValue === "yes") return;
      box.checked = false;
      box.dispatchEvent(new Event("change", { bubbles: true }));
    },
    { once: true },
  );
  grave.showModal();
});
