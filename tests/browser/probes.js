// What tests ask of a page that is open: text that is cut, boxes that scroll sideways, what moves, where the focus is.

const words = (text) => text.data.trim().slice(0, 60);
const named = (box) => `${box.tagName.toLowerCase()}.${box.className}`;
const told = (box) => `${named(box)} ${box.textContent.trim().slice(0, 60)}`;
const SCROLLS = ["auto", "scroll"];
const HIDES = ["hidden", "clip"];

function* visibleTexts() {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const home = text.parentElement;
    if (text.data.trim() && !home.closest("textarea, select, svg, .skip-link") && home.checkVisibility()) yield text;
  }
}

function placesOf(text) {
  const range = document.createRange();
  range.selectNodeContents(text);
  return [...range.getClientRects()].filter(({ width, height }) => width && height);
}

function* around(text) {
  for (let box = text.parentElement; box; box = box.parentElement) yield [box, getComputedStyle(box)];
}

/** Whether a box that neither shows nor scrolls what does not fit, or the window's edge, cuts off a part of the text. */
function isCut(text, width) {
  const places = placesOf(text);
  let [sideways, downwards] = [true, true]; // the directions in which nothing scrolls so far
  for (const [box, style] of around(text)) {
    if (style.clipPath !== "none") return false; // to be heard, not seen
    sideways &&= !SCROLLS.includes(style.overflowX);
    downwards &&= !SCROLLS.includes(style.overflowY);
    const { left, right, top, bottom } = box.getBoundingClientRect();
    const hidesX = sideways && HIDES.includes(style.overflowX);
    const hidesY = downwards && HIDES.includes(style.overflowY);
    if (hidesX && places.some((place) => place.left < left - 1 || place.right > right + 1)) return true;
    if (hidesY && places.some((place) => place.top < top - 1 || place.bottom > bottom + 1)) return true;
  }
  return sideways && places.some((place) => place.left < -1 || place.right > width + 1);
}

function cutText(width) {
  return [...visibleTexts()].filter((text) => isCut(text, width)).map(words);
}

/** The page, and boxes in it, that must be pushed sideways; a wide table, a drawing and code may be. */
function sideways(width) {
  const wide = [...document.querySelectorAll("body *")].filter(
    (box) =>
      SCROLLS.includes(getComputedStyle(box).overflowX) &&
      box.scrollWidth > box.clientWidth + 1 &&
      box.checkVisibility() &&
      !box.matches(".table-scroll, .wide, .drawing, pre, textarea"),
  );
  const page = document.scrollingElement.scrollWidth;
  return [...(page > width ? [`the page has ${page} px`] : []), ...wide.map(named)];
}

const longest = (times) => Math.max(...times.split(",").map((time) => parseFloat(time) * (/ms$/.test(time) ? 1 : 1000)));

/** Every transition and animation of more than a hundredth of a millisecond, and scrolling that glides. */
function motion() {
  const found = document.getAnimations().map((one) => `runs: ${one.animationName ?? one.transitionProperty}`);
  for (const box of document.querySelectorAll("*")) {
    for (const part of [undefined, "::before", "::after"]) {
      const style = getComputedStyle(box, part);
      if (longest(style.transitionDuration) > 0.01) found.push(`transition: ${named(box)}${part ?? ""}`);
      if (style.animationName !== "none" && longest(style.animationDuration) > 0.01)
        found.push(`animation: ${named(box)}${part ?? ""}`);
    }
    if (getComputedStyle(box).scrollBehavior !== "auto") found.push(`glides: ${named(box)}`);
  }
  return found;
}

/** Radios and tick boxes are drawn by their labels. */
const drawnFor = (control) => control.closest("label") ?? control;

function ring(box) {
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(box);
  return outlineStyle === "none" ? boxShadow : `${outlineStyle} ${outlineWidth} ${boxShadow}`;
}

const between = (one, other, most) => (Math.max(one, 0) + Math.min(other, most)) / 2;

/** By one of its parts at least: a link may go on in the next line. */
function isInSight(box) {
  const isHit = ({ left, right, top, bottom }) =>
    box.contains(document.elementFromPoint(between(left, right, innerWidth), between(top, bottom, innerHeight)));
  return box.checkVisibility() && [...box.getClientRects()].some(isHit);
}

let before; // where the focus was when it was asked for last, and how that looked

/** Where the focus is. `faint` names the place before, if it looks without the focus as it did with it. */
function focus() {
  const at = document.activeElement;
  const drawn = drawnFor(at);
  const faint = before?.drawn.isConnected && before.drawn !== drawn && ring(before.drawn) === before.ring;
  const wasFaint = faint ? told(before.drawn) : "";
  before = { drawn, ring: ring(drawn) };
  const { tagName: tag, type: kind = "", name = "", value = "" } = at;
  return { tag, kind, name, value, drawn: told(drawn), seen: isInSight(drawn), faint: wasFaint };
}

window.probes = { cutText, sideways, motion, focus };
