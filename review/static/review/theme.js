"use strict";
// Light, dark, or same as system has it; kept by this browser. Loaded before the first paint.

const stored = () => {
  try {
    return localStorage.getItem("medrcube-theme") ?? "";
  } catch {
    return "";
  }
};

function apply(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

apply(stored());

document.addEventListener("DOMContentLoaded", () => {
  const select = document.querySelector("[data-theme-choice]");
  if (!select) return;
  select.closest("[hidden]").hidden = false;
  select.value = stored();
  select.addEventListener("change", () => {
    try {
      localStorage.setItem("medrcube-theme", select.value);
    } catch {
      // A private window keeps nothing; the page still changes.
    }
    apply(select.value);
  });
});
