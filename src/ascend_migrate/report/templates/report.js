"use strict";
(() => {
  const findings = [...document.querySelectorAll(".finding")].map((element) => ({
    element,
    file: element.closest(".file"),
    level: element.dataset.level,
    code: element.dataset.code,
    need: element.dataset.need,
    // What is said and the place itself, not the lines around it.
    text: [...element.querySelectorAll(":scope > p, mark")].map((part) => part.textContent).join(" ").toLowerCase(),
  }));
  const files = [...document.querySelectorAll(".file")];
  const search = document.querySelector("#search");
  const code = document.querySelector("#code");
  const need = document.querySelector("#need");
  const levels = [...document.querySelectorAll("input[name=level]")];
  const shown = document.querySelector("#shown");

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(levels.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    const open = new Set();
    for (const finding of findings) {
      const visible =
        wanted.has(finding.level) &&
        (code.value === "" || finding.code === code.value) &&
        (need.value === "" || finding.need === need.value) &&
        words.every((word) => finding.text.includes(word) || finding.file.dataset.path.includes(word));
      finding.element.hidden = !visible;
      if (visible) {
        count += 1;
        open.add(finding.file);
      }
    }
    for (const file of files) file.hidden = !open.has(file);
    shown.textContent = `${count} / ${findings.length}`;
  }

  for (const control of [search, code, need, ...levels]) control.addEventListener("input", apply);
  document.querySelector("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme || (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
  apply();
})();
