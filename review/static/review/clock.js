"use strict";
// Times that the server gives in UTC, shown as the reviewer's clock shows them.

export function clock(moment) {
  return new Date(moment).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

for (const element of document.querySelectorAll("time[data-clock]")) {
  element.textContent = clock(element.dateTime);
}
