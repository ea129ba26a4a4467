// Notices when nothing has arrived for a long time.

/**
 * Counts only seconds in which the page was awake. After a page was frozen or a machine slept, its
 * timers run before it receives the messages of the time between.
 */
export class SilenceWatch {
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Begins to wait. An earlier wait ends. */
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
