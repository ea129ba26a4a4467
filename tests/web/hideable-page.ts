// A page that can go to the background: Playwright keeps the pages that it knows in the foreground,
// even if other pages cover them.
import type { Browser } from 'playwright-core';

export interface HideablePage {
  /** Runs the function in the page; its parameters and its result are JSON. */
  evaluate<P extends unknown[], R>(run: (...parameters: P) => R, ...parameters: P): Promise<R>;
  /** Brings the page to the front of its window, which hides the other pages of the window. */
  activate(): Promise<void>;
  /** Stops or restarts the page's tasks and timers; browsers freeze pages hidden for long. */
  setFrozen(isFrozen: boolean): Promise<void>;
}

/** Returns a function that opens pages in one window, which has its own storage. */
export async function hideablePages(
  browser: Browser,
): Promise<(url: string) => Promise<HideablePage>> {
  const protocol = await browser.newBrowserCDPSession();
  const { browserContextId } = await protocol.send('Target.createBrowserContext');
  return async (url) => {
    const target = await protocol.send('Target.createTarget', { url, browserContextId });
    const { targetId } = target;
    const { sessionId } = await protocol.send('Target.attachToTarget', {
      targetId,
      flatten: false,
    });
    const waiting = new Map<number, (answer: unknown) => void>();
    protocol.on('Target.receivedMessageFromTarget', (event) => {
      if (event.sessionId !== sessionId) return;
      const { id, result, error } = JSON.parse(event.message) as Record<string, unknown>;
      waiting.get(id as number)?.(result ?? error);
    });
    const send = async (method: string, params: object) => {
      const id = waiting.size + 1;
      const message = JSON.stringify({ id, method, params });
      const answer = new Promise((resolve) => waiting.set(id, resolve));
      await protocol.send('Target.sendMessageToTarget', { sessionId, message });
      return answer;
    };
    return {
      async evaluate<P extends unknown[], R>(run: (...parameters: P) => R, ...parameters: P) {
        const expression = `(${run.toString()})(...${JSON.stringify(parameters)})`;
        const params = { expression, awaitPromise: true, returnByValue: true };
        const answer = (await send('Runtime.evaluate', params)) as {
          result?: { value: R };
          exceptionDetails?: unknown;
        };
        if (!answer.result || answer.exceptionDetails) throw new Error(JSON.stringify(answer));
        return answer.result.value;
      },
      async activate() {
        await protocol.send('Target.activateTarget', { targetId });
      },
      async setFrozen(isFrozen) {
        await send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' });
      },
    };
  };
}
