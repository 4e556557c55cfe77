/** Builders of elements. All text goes in as text nodes, so names from a model file can never become markup. */

const SVG = "http://www.w3.org/2000/svg";

/** Return an HTML element; null and false children and attributes are left out, so callers can write conditions. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Return an SVG element, which needs its own namespace. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Listeners and styles are set through the DOM, because the page's security policy forbids inline ones. */
function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Return text that only screen readers read. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

let count = 0;

/** Return an id that is new in this page, to connect a label with its input. */
export function newId(stem) {
  count += 1;
  return `${stem}-${count}`;
}
