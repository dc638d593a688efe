"use strict";
// Runs before the page is shown, so that a chosen theme does not flash in.
const THEMES = ["auto", "light", "dark"];
const theme = {
  get() {
    try {
      const kept = localStorage.getItem("rqa-theme");
      return THEMES.includes(kept) ? kept : "auto";
    } catch { return "auto"; } // storage may be off for files
  },
  set(name) {
    document.documentElement.dataset.theme = name;
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.textContent = `Theme: ${name}`; }
    try { localStorage.setItem("rqa-theme", name); } catch { /* it lasts as long as the page */ }
  },
};
document.documentElement.dataset.theme = theme.get();
addEventListener("DOMContentLoaded", () => {
  theme.set(theme.get());
  document.getElementById("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme;
    theme.set(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  });
});
