// Numbers that glide to where they belong, unless the reader asked for no motion.

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** Milliseconds in which most of the way is done. */
const PACE = 90;

export const moves = () => !still.matches && !document.hidden;

/** Calls `draw` with an object of numbers that follows its target, also where that moves on before it is reached. */
export class Glide {
  #draw;
  #now = null;
  #target = null;
  #frame = 0;
  #time = 0;

  constructor(draw) {
    this.#draw = draw;
  }

  to(target) {
    this.#target = target;
    if (this.#now === null || target === null || !moves()) {
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      this.#now = target;
      this.#draw(target);
    } else if (!this.#frame) {
      this.#time = performance.now();
      this.#frame = requestAnimationFrame((time) => this.#step(time));
    }
  }

  /** Draw again where it is: what is drawn on has changed. */
  again() {
    this.#draw(this.#now);
  }

  #step(time) {
    const part = 1 - Math.exp(-Math.max(0, time - this.#time) / PACE);
    this.#time = time;
    let arrived = true;
    const entries = Object.entries(this.#target).map(([key, value]) => {
      const start = this.#now[key];
      if (
        !Number.isFinite(start) ||
        !Number.isFinite(value) ||
        Math.abs(value - start) < 1e-3 * (Math.abs(value) + 1e-9)
      )
        return [key, value];
      arrived = false;
      return [key, start + (value - start) * part];
    });
    this.#now = Object.fromEntries(entries);
    this.#draw(this.#now);
    this.#frame = arrived ? 0 : requestAnimationFrame((next) => this.#step(next));
  }
}

/** Do something once in the next frame, however often it is asked for. */
export function oncePerFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A hidden page gets no frames, and must not fall behind.
    const run = () => {
      asked = false;
      action();
    };
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  };
}
