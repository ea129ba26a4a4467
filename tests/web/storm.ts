// A storm: all operations of models and sessions, at random and several at a time.
import type { Kinglet, Session } from 'kinglet';
import type { AnyPage } from './any-browser.ts';
import { opening } from './loading-page.ts';

export interface Storm {
  /** The path of the model. */
  path: string;
  /** The greedy story of each kernel set: near a tie, rounding decides. */
  stories: Record<string, string>;
  nOperations: number;
  seed: number;
}

export interface StormOutcome {
  /** How often each operation ended, and how: "fork: done", "load: AbortError". */
  counts: Record<string, number>;
  /** What went wrong. */
  complaints: string[];
}

/**
 * Several actors share one model, and each has its own session. Each actor does random operations:
 * it loads another model in place of the old one, generates, aborts, forks, saves, restores,
 * truncates or disposes. A session's context is always the beginning of the greedy story, so each
 * token of each generation is known.
 */
export function stormInPage(page: AnyPage, storm: Storm): Promise<StormOutcome> {
  return page.evaluate(
    async ({ path, stories, nOperations, seed }: Storm, prompt: string) => {
      let state = seed;
      const random = (n: number) => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor((state / 2 ** 32) * n);
      };
      const counts: Record<string, number> = {};
      const complaints: string[] = [];
      const complain = (...words: unknown[]) => complaints.push(words.map(String).join(' '));

      const load = (signal?: AbortSignal) =>
        kinglet.Kinglet.load(path, {
          ...{ nThreads: 1 + random(4), nCtx: 256, cache: random(2) === 0, signal },
          onWarning: ({ code, message }) => {
            counts[`warning: ${code}`] = (counts[`warning: ${code}`] ?? 0) + 1;
            if (code !== 'worker_crashed' && code !== 'cache_unavailable') complain(message);
          },
        });
      let model: Kinglet | undefined = await load();
      const { kernels } = model.info.runtime;
      // A relaxed product and sum may be rounded once, or twice as in simd128: some WebKits do that.
      const known = kernels === 'relaxed-simd' ? Object.values(stories) : [stories[kernels]];
      const nPrompt = (await model.tokenize(prompt)).length;
      const nAnswer = 120;
      const mostTokens = 40; // the most tokens of one generation
      const first = await model.newSession();
      const exact = { temperature: 0, logprobs: 0 };
      const logprobs: number[] = [];
      let story = '';
      for await (const { text, logprob } of first.generate(prompt, {
        ...exact,
        maxTokens: nAnswer,
      })) {
        story += text;
        if (logprob !== undefined) logprobs.push(logprob);
      }
      const begins = (beginning?: string) => beginning !== undefined && story.startsWith(beginning);
      if (!known.some(begins)) complain('the reference is', story);
      const chain = await first.tokens();
      if (chain.length !== nPrompt + nAnswer) complain('the reference has', chain.length, 'tokens');
      first.dispose();

      interface Actor {
        of?: Kinglet | undefined;
        session?: Session | undefined;
        /** The length of its context, which is a beginning of the chain. */
        length: number;
        saved?: { bytes: Uint8Array; length: number };
      }
      const checkTokens = async (actor: Actor, session: Session, min: number, max: number) => {
        const tokens = await session.tokens();
        const isChain = tokens.every((token, i) => token === chain[i]);
        const { length } = tokens;
        const isCut = length > 0 && length < nPrompt; // a prompt is read whole or not at all
        if (!isChain || isCut || length < min || length > max) {
          complain('a context of', length, 'tokens, expected', min, 'to', max, 'of the story');
        }
        actor.length = length;
      };
      /** Expects the next tokens of the story, or some of them if the generation is aborted. */
      const generate = async (actor: Actor, session: Session, signal?: AbortSignal) => {
        const before = actor.length;
        const maxTokens = 1 + random(signal ? mostTokens : 8);
        const start = Math.max(before, nPrompt);
        const expected = chain.slice(start, start + maxTokens);
        const tokens: number[] = [];
        // Equal bit for bit, whatever the session did before and wherever its keys are stored.
        let isExact = true;
        try {
          const options = { ...exact, maxTokens, signal };
          const text = before === 0 ? prompt : '';
          for await (const { token, logprob } of session.generate(text, options)) {
            if (token < 0) continue;
            isExact &&= logprob === logprobs[start - nPrompt + tokens.length];
            tokens.push(token);
          }
          if (tokens.length !== expected.length) complain(tokens.length, 'of', maxTokens, 'tokens');
        } finally {
          if (tokens.some((token, i) => token !== expected[i])) {
            complain('after', before, 'tokens came', tokens, 'not', expected);
          }
          if (!isExact) complain('after', before, 'tokens, log probabilities differ');
          // If the model was replaced meanwhile, the session has no context any more.
          if (actor.of === model) {
            await checkTokens(actor, session, signal ? before : start + 1, start + maxTokens);
          }
        }
      };
      const withSession = (work: (actor: Actor, session: Session) => Promise<unknown>) => {
        return async (actor: Actor) => {
          if (!model) replace(await load());
          if (actor.of !== model || !actor.session) {
            actor.of = model;
            actor.length = 0;
            actor.session = await model!.newSession(random(2) === 0 ? {} : { kvPool: 1024 });
          }
          if (actor.length + mostTokens > chain.length) await cut(actor, actor.session);
          await work(actor, actor.session);
        };
      };
      const cut = async (actor: Actor, session: Session) => {
        if (actor.length === 0) return;
        actor.length = nPrompt + random(actor.length - nPrompt + 1);
        await session.truncate(actor.length);
        await checkTokens(actor, session, actor.length, actor.length);
      };
      const replace = (next: Kinglet | undefined) => {
        const old = model;
        model = next;
        old?.dispose();
      };
      const abortSoon = (ms: number) => {
        const controller = new AbortController();
        setTimeout(() => {
          controller.abort();
        }, random(ms));
        return controller.signal;
      };
      const operations: Record<string, (actor: Actor) => Promise<unknown>> = {
        load: async () => {
          replace(await load());
        },
        'load aborted': async () => {
          replace(await load(abortSoon(300)));
        },
        generate: withSession(generate),
        'generate more': withSession(generate),
        'generate aborted': withSession((actor, session) =>
          generate(actor, session, abortSoon(30)),
        ),
        'generate anew': withSession(async (actor) => {
          const options = { temperature: 0, maxTokens: 1 + random(20) };
          const { text } = await actor.of!.generate(prompt, options).result;
          if (text === '' || !story.startsWith(text)) complain('a model told', text);
        }),
        fork: withSession(async (actor, session) => {
          const fork = await session.fork();
          await checkTokens(actor, fork, actor.length, actor.length);
          const [kept, other] = random(2) === 0 ? [fork, session] : [session, fork];
          // Both go on from here at the same time.
          await Promise.all([generate({ ...actor }, other), generate(actor, kept)]);
          other.dispose();
          actor.session = kept;
        }),
        save: withSession(async (actor, session) => {
          actor.saved = { bytes: await session.save(), length: actor.length };
        }),
        restore: withSession(async (actor, session) => {
          if (!actor.saved) return;
          const { bytes, length } = actor.saved;
          await session.restore(bytes);
          await checkTokens(actor, session, length, length);
        }),
        truncate: withSession(cut),
        dispose: (actor) => {
          actor.session?.dispose();
          actor.session = undefined;
          return Promise.resolve();
        },
        'dispose at work': withSession(async (actor, session) => {
          const { result } = session.generate('', { maxTokens: 50 });
          await new Promise((resolve) => setTimeout(resolve, random(20)));
          session.dispose();
          actor.session = undefined;
          await result;
        }),
        'dispose the model': () => {
          replace(undefined);
          return Promise.resolve();
        },
      };
      const names = Object.keys(operations);
      const mayFail: Record<string, string> = {
        'load aborted': 'AbortError',
        'generate aborted': 'AbortError',
        'dispose at work': 'disposed',
      };

      /** Returns the outcome; "hangs" if it takes longer than a load that starts over twice. */
      const perform = async (name: string, actor: Actor): Promise<string> => {
        let timer: ReturnType<typeof setTimeout> | undefined;
        const hangs = new Promise<string>((resolve) => {
          timer = setTimeout(() => {
            resolve('hangs');
          }, 60_000);
        });
        const done = operations[name]!(actor).then(
          () => 'done',
          (error: unknown) => {
            const outcome =
              error instanceof kinglet.KingletError ? error.code : (error as Error).name;
            const wasReplaced = outcome === 'disposed' && actor.of !== model;
            if (!wasReplaced && mayFail[name] !== outcome) complain(name, String(error));
            return outcome;
          },
        );
        const outcome = await Promise.race([done, hangs]);
        clearTimeout(timer);
        if (outcome === 'hangs') complain(name, 'hangs');
        return outcome;
      };
      let nBegun = 0;
      const act = async () => {
        const actor: Actor = { length: 0 };
        while (nBegun < nOperations && complaints.length === 0) {
          nBegun += 1;
          const name = names[random(names.length)]!;
          const outcome = `${name}: ${await perform(name, actor)}`;
          counts[outcome] = (counts[outcome] ?? 0) + 1;
        }
      };
      await Promise.all([act(), act(), act()]);
      replace(undefined);
      return { counts, complaints };
    },
    storm,
    opening,
  );
}
