// Rows of a list that can be dragged to another place, beside the buttons that move them by one. Dropping a row sends the
// form of the list as these buttons do. Keyboards and pages without script use the buttons.

const list = document.querySelector("[data-reorder]");
const form = list?.closest("form");
let dragged; // { row, from }

const placeOf = (row) => [...list.children].indexOf(row);

function addGrip(row) {
  const grip = document.createElement("span");
  grip.className = "builder-row__grip";
  grip.setAttribute("aria-hidden", "true"); // the buttons say it in words
  grip.addEventListener("pointerdown", (event) => take(event, row));
  row.prepend(grip);
}

function take(event, row) {
  if (event.button) return;
  event.preventDefault(); // no text is selected
  list.setPointerCapture(event.pointerId);
  dragged = { row, from: placeOf(row) };
  row.classList.add("builder-row--dragged");
}

/** Before the first row whose middle lies below the pointer. */
function move({ clientY }) {
  if (!dragged) return;
  const others = [...list.children].filter((row) => row !== dragged.row);
  const next = others.find((row) => {
    const { top, height } = row.getBoundingClientRect();
    return clientY < top + height / 2;
  });
  if (dragged.row.nextElementSibling !== (next ?? null)) list.insertBefore(dragged.row, next ?? null);
}

function drop() {
  const { row, from } = release();
  const place = placeOf(row);
  if (place === from) return;
  add("act", `to:${from}`);
  add("place", place);
  form.submit();
}

function giveBack() {
  if (!dragged) return;
  const { row, from } = release();
  row.remove();
  list.insertBefore(row, list.children[from] ?? null);
}

function release() {
  const { row, from } = dragged;
  dragged = undefined;
  row.classList.remove("builder-row--dragged");
  return { row, from };
}

function add(name, value) {
  const input = document.createElement("input");
  Object.assign(input, { type: "hidden", name, value });
  form.append(input);
}

if (list && list.children.length > 1) {
  [...list.children].forEach(addGrip);
  list.addEventListener("pointermove", move);
  list.addEventListener("pointerup", () => dragged && drop());
  list.addEventListener("pointercancel", giveBack);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && giveBack());
}
