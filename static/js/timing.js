// How a message was written, where the study records it: no key and no deleted word, only times, a count and a flag.

export class Timing {
  #isOn;
  #began = performance.now(); // the end of the reply before, or the opening of the page
  #firstKey;
  #focusLosses = 0;
  #pasted = false;

  constructor(isOn) {
    this.#isOn = isOn;
    document.addEventListener("visibilitychange", () => document.hidden && (this.#focusLosses += 1));
  }

  begin() {
    [this.#began, this.#firstKey, this.#focusLosses, this.#pasted] = [performance.now(), undefined, 0, false];
  }

  typed() {
    this.#firstKey ??= performance.now();
  }

  pasted() {
    this.#pasted = true;
  }

  /** What goes with the message; undefined where nothing is recorded. */
  taken() {
    if (!this.#isOn) return undefined;
    const now = performance.now();
    const firstKey = this.#firstKey ?? now;
    return {
      reading_ms: Math.round(firstKey - this.#began),
      typing_ms: Math.round(now - firstKey),
      focus_losses: this.#focusLosses,
      pasted: this.#pasted,
    };
  }
}
