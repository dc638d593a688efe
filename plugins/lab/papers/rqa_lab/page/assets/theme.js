"use strict";
// Runs before the first paint, so that the page does not flash in the wrong theme.
const THEMES = ["auto", "light", "dark"];
const theme = {
  get() {
    try {
      const kept = localStorage.getItem("rqa-theme");
      return THEMES.includes(kept) ? kept : "auto";
    } catch { return "auto"; } // no storage, for example for local files
  },
  set(name) {
    document.documentElement.dataset.theme = name;
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.textContent = `Theme: ${name}`; }
    try { localStorage.setItem("rqa-theme", name); } catch { /* no storage */ }
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
