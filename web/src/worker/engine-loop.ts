import type { EngineModel } from '#engine';
import { turnMs, yieldToMessages } from './yield.ts';

/** Work that the engine does in turns. */
export interface EngineWork<Event> {
  /** Returns whether to continue; may throw. */
  isWanted: () => boolean;
  /** Begins the work, whose events are passed on. Each call to the engine may bring some. */
  begin: (onEvent: (event: Event) => void) => void;
  /** Reads an event, and returns whether it is the last. Throws for an error, which is the last. */
  read: (event: Event) => boolean;
  /** Lets the engine end the work soon, with a last event. */
  cancel: () => void;
}

interface RunningWork {
  check: () => void;
  fail: (error: Error) => void;
}

/** Computes all that was begun, and lets messages in between. */
export class EngineLoop {
  readonly #model: EngineModel;
  readonly #running = new Set<RunningWork>();
  #isRunning = false;

  constructor(model: EngineModel) {
    this.#model = model;
  }

  /** Resolves with the last event. Rejects with what `isWanted` or `read` throws. */
  run<Event>({ isWanted, begin, read, cancel }: EngineWork<Event>): Promise<Event> {
    return new Promise((resolve, reject) => {
      let reason: Error | undefined; // why it is cancelled, if `isWanted` threw that
      const fail = (error: Error) => {
        this.#running.delete(work);
        reject(error);
      };
      const check = () => {
        try {
          if (reason === undefined && isWanted()) return;
        } catch (error) {
          reason = error as Error;
        }
        cancel();
      };
      const work: RunningWork = { check, fail };
      this.#running.add(work);
      begin((event) => {
        try {
          if (!read(event)) return;
          this.#running.delete(work);
          if (reason === undefined) resolve(event);
          else fail(reason);
        } catch (error) {
          fail(reason ?? (error as Error));
        }
      });
      void this.#compute();
    });
  }

  async #compute(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      // The first turn is one step: who asks may stop at once.
      for (let ms = 0; this.#running.size > 0; ms = turnMs) {
        this.#model.advance(ms);
        await yieldToMessages();
        for (const work of this.#running) work.check();
      }
    } catch (error) {
      for (const work of this.#running) work.fail(error as Error);
    } finally {
      this.#isRunning = false;
    }
  }
}
