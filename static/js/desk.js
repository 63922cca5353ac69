// The safety desk: the list of waiting events renews itself, the tab's title counts them, a new alarm can be heard.
import { watch } from "./desk_line.js";
import { ofDevice } from "./storage.js";

const SOUND = "emostudy.desk.sound";

const desk = document.querySelector("[data-desk]");
const line = desk.querySelector('[data-part="line"]');
const sound = desk.querySelector('[data-part="sound"]');
const title = document.title;
let context; // browsers make a sound only after someone has pressed something

const shown = () => desk.querySelector("[data-live]").dataset;

function tell(state) {
  line.hidden = false;
  for (const words of line.children) words.hidden = words.dataset.when !== state;
}

function count() {
  const { unacknowledged } = shown();
  document.title = unacknowledged === "0" ? title : `(${unacknowledged}) ${title}`;
}

function ring() {
  if (!context || sound.getAttribute("aria-pressed") !== "true") return;
  const tone = context.createOscillator();
  const volume = context.createGain();
  volume.gain.value = 0.2;
  tone.frequency.value = 880;
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.4);
}

async function renew() {
  const response = await fetch(location.href).catch(() => undefined);
  if (!response?.ok) return tell("away");
  if (response.redirected) return location.reload(); // signed out meanwhile
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  desk.querySelector("[data-live]").replaceWith(page.querySelector("[data-live]"));
  count();
}

async function receive(state) {
  tell("live");
  const before = shown();
  const changed =
    String(state.open) !== before.open ||
    String(state.unacknowledged) !== before.unacknowledged ||
    String(state.newest_event) !== before.newestEvent ||
    String(state.newest_act) !== before.newestAct;
  if (!changed) return;
  const isNew = state.unacknowledged > Number(before.unacknowledged);
  await renew();
  if (isNew) ring();
}

function press(on) {
  sound.setAttribute("aria-pressed", String(on));
  ofDevice.write(SOUND, on ? "on" : "off");
}

sound.hidden = false;
sound.addEventListener("click", () => {
  context ??= new AudioContext();
  press(sound.getAttribute("aria-pressed") !== "true");
  ring();
});
// A browser that was told to be loud before may be so again at the first press of anything.
if (ofDevice.read(SOUND) === "on") {
  press(true);
  addEventListener("pointerdown", () => (context ??= new AudioContext()), { once: true });
}
count();
watch(desk.dataset.desk, receive, () => tell("away"));
