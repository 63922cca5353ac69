// A counsellor's marks on replies: a button in each bubble, and a small form that opens in its place.

let taken = 0; // forms that were taken in this showing of the page, so that each is a form of its own

export class Flags {
  /** `shell` and `form`: the templates; `words`: what is said; `post(form, submitter)` gives a Response, ok or not. */
  constructor({ shell, form, words, post }) {
    Object.assign(this, { shell, form, words, post });
    const standing = JSON.parse(document.getElementById("standing-flags").textContent);
    this.standing = new Map(standing.map((flag) => [flag.turn, flag]));
  }

  /** Put the button beneath the reply, with the mark that it has already. */
  offer(bubble, turn) {
    if (bubble.querySelector(".flag")) return;
    const box = copyOf(this.shell);
    const named = box.querySelector(".visually-hidden");
    named.textContent = named.textContent.replace("{turn}", turn);
    bubble.insertBefore(box, bubble.querySelector(".reply-rating")); // also where this script comes after the reply
    this.show(box, turn, "");
    part(box, "open").addEventListener("click", () => (formIn(box) ? this.close(box) : this.open(box, turn)));
    part(box, "withdraw").addEventListener("click", () => this.withdraw(box, turn));
  }

  /** `otherwise`: what is said where no mark stands. */
  show(box, turn, otherwise) {
    const flag = this.standing.get(turn);
    box.querySelector(".flag__mark").textContent = flag ? this.wording(flag) : otherwise;
    box.classList.toggle("flag--marked", Boolean(flag));
    part(box, "flag").hidden = Boolean(flag);
    part(box, "change").hidden = part(box, "withdraw").hidden = !flag;
  }

  wording({ words, note }) {
    const flagged = this.words.flagged.replace("{reason}", words);
    return note ? `${flagged}\n${note}` : flagged;
  }

  open(box, turn) {
    const form = this.newForm(turn);
    const flag = this.standing.get(turn);
    form.elements.note.value = flag?.note ?? "";
    if (flag) form.elements.reason.value = flag.reason;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save(box, turn);
    });
    form.addEventListener("keydown", ({ key }) => key === "Escape" && this.close(box));
    part(form, "cancel").addEventListener("click", () => this.close(box));
    box.append(form);
    part(box, "open").setAttribute("aria-expanded", "true");
    form.scrollIntoView({ block: "nearest" });
    (form.querySelector(":checked") ?? form.elements.reason[0]).focus();
  }

  newForm(turn) {
    const form = copyOf(this.form);
    form.elements.turn.value = turn;
    form.elements.note.id = form.querySelector(".flag__note").htmlFor = `flag-note-${turn}`;
    form.elements.idempotency.value += `.${turn}.${taken}`;
    return form;
  }

  close(box) {
    formIn(box)?.remove();
    part(box, "open").setAttribute("aria-expanded", "false");
    part(box, "open").focus();
  }

  async save(box, turn) {
    const form = formIn(box);
    const wrong = await this.send(form, turn);
    if (wrong) {
      part(form, "wrong").textContent = wrong;
      return;
    }
    this.show(box, turn, "");
    this.close(box);
  }

  async withdraw(box, turn) {
    const form = this.newForm(turn);
    form.elements.act.value = "withdraw";
    const wrong = await this.send(form, turn);
    part(box, "wrong").textContent = wrong;
    if (wrong) return;
    this.show(box, turn, this.words.unflagged);
    this.close(box);
  }

  /** What is wrong; empty where the server has taken it. The flag that stands then is the server's word. */
  async send(form, turn) {
    const response = await this.post(form);
    const { flag, error = this.words.flag_not_saved } = await response.json().catch(() => ({}));
    if (!response.ok || flag === undefined) return error;
    taken += 1;
    if (flag) this.standing.set(turn, flag);
    else this.standing.delete(turn);
    return "";
  }
}

/** Of this page at once: a form that is sent without standing on it must know its address all the same. */
function copyOf(template) {
  return document.importNode(template.content.firstElementChild, true);
}

function part(box, name) {
  return box.querySelector(`[data-flag="${name}"]`);
}

function formIn(box) {
  return box.querySelector("form");
}
