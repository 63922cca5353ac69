// Raw calls are fetched when they are opened; an address that names a turn or a call leads to it.

async function fill(call) {
  const here = call.querySelector("[data-here]");
  if (here.dataset.here) return;
  here.dataset.here = "asked";
  const response = await fetch(call.dataset.part).catch(() => null);
  if (response?.redirected) return location.reload(); // signed out meanwhile
  if (response?.ok) {
    here.innerHTML = await response.text(); // our own page, with every text escaped
  } else {
    here.role = "alert";
    here.textContent = call.closest("[data-failed]").dataset.failed;
    here.dataset.here = "";
  }
}

function reveal() {
  const call = document.querySelector(`details.call[id="${CSS.escape(location.hash.slice(1))}"]`);
  if (!call) return;
  for (let box = call; box; box = box.parentElement.closest("details")) box.open = true;
  call.scrollIntoView();
}

for (const call of document.querySelectorAll("details[data-part]")) {
  call.addEventListener("toggle", () => call.open && fill(call));
}
window.addEventListener("hashchange", reveal);
if (location.hash) reveal();
else document.querySelector('.turn[aria-current="true"]')?.scrollIntoView();
