// Interrupts every operation that a page can have begun.
import type { Kinglet, Session } from 'kinglet';
import type { Page } from 'playwright-core';
import { nTokens, opening } from './loading-page.ts';

/** The operations that can be aborted. */
export const abortable = [
  ...(['a prompt', 'an answer', 'a chat', 'a grammar', 'a schema'] as const),
  ...(['logits', 'an embedding'] as const),
];
export const operations = [
  ...abortable,
  ...(['a text', 'a fork', 'a cut', 'a state', 'several calls'] as const),
];
export type Operation = (typeof operations)[number];

export interface Interruptions {
  operation: Operation;
  /** Disposes of the model or the session, or aborts the call's signal. */
  by: 'dispose' | 'disposeSession' | 'abort';
  nTimes: number;
  seed: number;
}

/**
 * Begins an operation `nTimes` times, and interrupts it at once or at a random moment. Returns how
 * each one ended: "done", or an error's code or name. After every 20 operations and the last one,
 * the model must generate `story`; any other text is added to the outcomes.
 */
export function interruptInPage(
  page: Page,
  path: string,
  story: string,
  interruptions: Interruptions,
): Promise<string[]> {
  return page.evaluate(
    async ([from, expected, { operation, by, nTimes, seed }, prompt, maxTokens]) => {
      let state = seed;
      const random = (n: number) => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor((state / 2 ** 32) * n);
      };
      const bytes = await (await fetch(from)).arrayBuffer();
      const load = () => kinglet.Kinglet.load(bytes, { nThreads: 1, nCtx: 256 });
      const long = 'One day a bird saw a big tree. '.repeat(20);
      const begin = (model: Kinglet, session: Session, signal: AbortSignal) => {
        const options = { maxTokens: 100, signal };
        const asked = [{ role: 'user', content: prompt }];
        const calls: Record<Operation, () => Promise<unknown>> = {
          'a prompt': () => session.generate(long, options).result,
          'an answer': () => model.generate(prompt, options).result,
          'a chat': () => session.chat(asked, options).result,
          'a grammar': () =>
            session.generate(prompt, { ...options, grammar: 'root ::= [a-z ]+' }).result,
          'a schema': () => model.generate(prompt, { ...options, jsonSchema: true }).result,
          logits: async () => {
            const tokens = await model.tokenize(long);
            return session.decode(tokens, { signal });
          },
          'an embedding': () => model.embed([long, prompt, long], { signal }),
          'a text': () => model.tokenize(long.repeat(100)),
          'a fork': () => session.fork(),
          'a cut': () => session.truncate(0),
          'a state': async () => session.restore(await session.save()),
          'several calls': () =>
            Promise.all([
              session.generate(prompt, options).result,
              session.fork(),
              model.newSession(),
              session.tokens(),
              model.chat(asked, options).result,
            ]),
        };
        return calls[operation]().then(
          () => 'done',
          (error: unknown) =>
            error instanceof kinglet.KingletError ? error.code : (error as Error).name,
        );
      };
      const tell = async (model: Kinglet) =>
        (await model.generate(prompt, { temperature: 0, maxTokens }).result).text;

      const outcomes: string[] = [];
      let model = await load();
      for (let i = 0; i < nTimes; ++i) {
        const session = await model.newSession();
        const controller = new AbortController();
        const outcome = begin(model, session, controller.signal);
        if (i % 4 > 0) await new Promise((resolve) => setTimeout(resolve, random(30)));
        if (by === 'abort') controller.abort();
        else (by === 'dispose' ? model : session).dispose();
        outcomes.push(await outcome);
        session.dispose();
        if (by === 'dispose') model = await load();
        if (i % 20 < 19 && i < nTimes - 1) continue;
        const told = await tell(model);
        if (told !== expected) outcomes.push(told);
      }
      model.dispose();
      return outcomes;
    },
    [path, story, interruptions, opening, nTokens] as const,
  );
}
