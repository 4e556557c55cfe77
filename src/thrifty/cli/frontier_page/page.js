/* Hover or keyboard focus shows a point; click or Enter chooses it and copies its command. */
"use strict";

const points = JSON.parse(document.getElementById("points").textContent);
const place = (name) => document.getElementById(`point-${name}`);
let chosen = null;

/** Show a point; text goes in as text, so that names can never become markup. */
function show(number) {
  const point = points[number];
  place("method").textContent = `${point.method}${point.settings ? `: ${point.settings}` : ""}`;
  for (const name of ["spend", "score", "state"]) place(name).textContent = point[name];
  place("command").textContent = point.command || "This candidate has no name on the command line.";
  place("copy").hidden = !point.command;
  place("copied").textContent = "";
}

function choose(number) {
  chosen = number;
  for (const mark of document.querySelectorAll("[data-point]"))
    mark.setAttribute("aria-selected", String(Number(mark.dataset.point) === number));
  show(number);
  copy();
}

async function copy() {
  const { command } = points[chosen];
  if (!command) return;
  place("copied").textContent = (await written(command)) ? "Copied." : "Select the command to copy it.";
}

/** Write to the clipboard; a page that is opened from a file may have to use the older way. */
async function written(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(place("command"));
    return document.execCommand("copy");
  }
}

/** One point of each chart can be reached with Tab; arrow keys move from there, in the order of the spend. */
function move(mark, number) {
  const chart = mark.closest("svg");
  const next = chart.querySelector(`[data-point="${Math.min(Math.max(number, 0), points.length - 1)}"]`);
  for (const each of chart.querySelectorAll("[data-point]")) each.setAttribute("tabindex", each === next ? "0" : "-1");
  next.focus();
}

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity };

for (const mark of document.querySelectorAll("[data-point]")) {
  const number = Number(mark.dataset.point);
  mark.addEventListener("mouseenter", () => show(number));
  mark.addEventListener("mouseleave", () => chosen === null || show(chosen));
  mark.addEventListener("focus", () => show(number));
  mark.addEventListener("click", () => choose(number));
  mark.addEventListener("keydown", (event) => {
    if (event.key in STEPS) move(mark, number + STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") choose(number);
    else return;
    event.preventDefault();
  });
}

place("copy").addEventListener("click", () => {
  chosen ??= points.findIndex((each) => each.command === place("command").textContent);
  copy();
});
const first = document.querySelector(".mark.chosen[class*=' m']")?.parentElement;
if (points.length) show(first ? Number(first.dataset.point) : 0);
document.getElementById("detail").hidden = !points.length;
