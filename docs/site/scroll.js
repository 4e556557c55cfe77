// What scrolls sideways can be reached and moved with the keyboard, and captions of the navigation have a level.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper")) {
    if (box.scrollWidth > box.clientWidth || getComputedStyle(box).overflowX === "auto") box.tabIndex = 0;
  }
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
});
