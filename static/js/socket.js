// The line to the server: comes back by itself, asks for what was missed, and loses no message on the way.

import { ofDevice } from "./storage.js";

const FIRST_WAIT = 500; // milliseconds before the second try; doubled for each further one, with jitter
const LONGEST_WAIT = 15_000;
const UNOPENED = 20_000; // for so long an offer to connect may stay without an answer
const SILENCE = 30_000; // a reply that is due for so long means that the line is dead without having said so
const UNHEARD = 10_000; // likewise an acknowledgement, for which no model has to think
const TOO_MANY = 10_000; // the window in which the server counts frames
// Why the server closed the line (dialogue/chat/sockets.py).
const RESTING = 4000; // nothing was written for long
const SHUT_OUT = 4002; // the person has a new link, or the browser has lost its cookies

export class ChatSocket {
  /** `onFrame(frame)` gets every frame once and in order; `onState` gets connecting, connected, broken, superseded. */
  constructor(code, { onFrame, onState }) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/chat/${code}/`;
    this.store = `emostudy.unsent.${code}`;
    this.unsent = this.kept;
    this.onFrame = onFrame;
    this.onState = onState;
    this.last = 0; // the highest number among the frames that were shown
    this.failedAt = 0;
    this.settled = 0; // the last turn whose reply came, or was said to have failed
    this.tries = 0;
    this.replyDue = false;
    this.ending = undefined; // the request to end, until it is answered
    window.addEventListener("offline", () => this.lose());
    window.addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    for (const sign of ["pointerdown", "keydown", "focus"]) {
      window.addEventListener(sign, () => this.isResting && this.hurry());
    }
  }

  get isOpen() {
    return this.line?.readyState === WebSocket.OPEN;
  }

  connect() {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    clearTimeout(this.opening);
    this.isResting = false;
    this.onState("connecting");
    const line = new WebSocket(this.url);
    this.line = line;
    line.addEventListener("open", () => this.line === line && this.opened());
    line.addEventListener("message", (event) => this.line === line && this.receive(JSON.parse(event.data)));
    line.addEventListener("close", (event) => this.line === line && this.closed(event.code));
    this.opening = setTimeout(() => this.lose(), UNOPENED);
  }

  opened() {
    clearTimeout(this.opening);
    this.tries = 0;
    this.onState("connected");
    this.transmit({ type: "resume", after: this.last });
    this.sendKept();
    if (this.ending) this.transmit(this.ending);
    this.watch();
  }

  closed(code) {
    clearTimeout(this.opening);
    clearTimeout(this.silence);
    this.isResting = code === RESTING;
    if (code === SHUT_OUT) location.assign("/study/");
    else if (!this.isResting) this.broke();
  }

  broke() {
    clearTimeout(this.silence);
    if (this.superseded) return;
    this.onState("broken");
    clearTimeout(this.waiting);
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.tries);
    this.tries += 1;
    this.waiting = setTimeout(() => this.connect(), wait * (0.5 + Math.random() / 2));
  }

  /** Try at once what would be tried later, or what was begun while there was no network. */
  hurry() {
    if (this.superseded || this.isOpen) return;
    this.letGo();
    this.connect();
  }

  /** The device has no network any more, or nobody answers, although the line itself may not know it for minutes. */
  lose() {
    if (!this.line) return;
    this.letGo();
    this.broke();
  }

  /** What the line still says is not listened to. */
  letGo() {
    clearTimeout(this.opening);
    const dead = this.line;
    this.line = undefined;
    dead?.close();
  }

  /** Give up a line on which nothing comes although something is due; the next one asks for all of it again. */
  watch() {
    clearTimeout(this.silence);
    if (this.superseded || !(this.unsent.length || this.replyDue || this.ending)) return;
    this.silence = setTimeout(() => this.drop(), this.replyDue ? SILENCE : UNHEARD);
  }

  drop() {
    this.letGo();
    this.connect();
  }

  transmit(frame) {
    if (!this.isOpen) return false;
    this.line.send(JSON.stringify(frame));
    return true;
  }

  /** Keep the message until the server has it; returns its id. */
  send(text, timing) {
    const message = { type: "message", id: newId(), text, timing };
    this.unsent.push(message);
    this.kept = [...this.kept, message];
    this.transmit(message);
    this.watch();
    return message.id;
  }

  sendKept() {
    for (const message of this.unsent) this.transmit(message);
  }

  /** What outlives the page. All tabs share it, so each adds and takes off its own messages and leaves the others'. */
  get kept() {
    return JSON.parse(ofDevice.read(this.store) ?? "[]");
  }

  set kept(messages) {
    ofDevice.write(this.store, messages.length ? JSON.stringify(messages) : "");
  }

  /** Hand back what the server will not take. */
  takeBack() {
    const [message] = this.unsent;
    if (message) this.arrived(message.id);
    return message;
  }

  arrived(id) {
    const isOther = (message) => message.id !== id;
    this.unsent = this.unsent.filter(isOther);
    this.kept = this.kept.filter(isOther);
  }

  retry() {
    // Should the line break now, the failure is told again if it still stands.
    this.last = this.failedAt - 1;
    this.replyDue = this.transmit({ type: "retry" });
    this.watch();
    return this.replyDue;
  }

  end(early) {
    const frame = { type: "end", early };
    if (!this.transmit(frame)) return false;
    this.ending = frame;
    this.watch();
    return true;
  }

  seen(seq) {
    return this.transmit({ type: "seen", seq });
  }

  receive(frame) {
    if (frame.seq !== undefined) {
      if (frame.seq <= this.last) return;
      this.last = frame.seq;
    }
    this.note(frame);
    this.onFrame(frame);
    this.watch();
  }

  note(frame) {
    if (["pause", "held", "closed", "error"].includes(frame.type)) this.ending = undefined;
    if (frame.type === "ack" || frame.type === "message") {
      this.arrived(frame.id);
      // Sent again over a new line, a message may be acknowledged after its reply was told.
      this.replyDue = frame.turn > this.settled;
    } else if (frame.type === "failed") {
      this.failedAt = frame.seq;
      this.settled = frame.turn;
      this.replyDue = false;
    } else if (["reply", "pause", "held", "closed"].includes(frame.type)) {
      this.replyDue = false;
      if (frame.type !== "reply") return;
      this.settled = frame.turn;
      this.sendKept();
    } else if (frame.type === "superseded") {
      this.superseded = true;
      this.onState("superseded");
    } else if (frame.type === "error" && frame.code === "rate") {
      setTimeout(() => this.sendKept(), TOO_MANY);
    }
  }
}

/** A random UUID also where the page is served without encryption, as on a laboratory's own network. */
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const digits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0"));
  return digits.join("");
}
