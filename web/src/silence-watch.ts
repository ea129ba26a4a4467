// Notices when nothing has been heard for long.

/**
 * Counts seconds in which the page was awake: a page that was frozen, or a machine that slept, has
 * heard nothing either, and finds what was said meanwhile after its timers.
 */
export class SilenceWatch {
  #timer: ReturnType<typeof setInterval> | undefined;

  /** From now on, in place of what was waited for before. */
  start(seconds: number, onSilence: () => void): void {
    this.stop();
    let left = seconds;
    this.#timer = setInterval(() => {
      if (--left > 0) return;
      this.stop();
      onSilence();
    }, 1000);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
