import { startBrowserWorker } from './browser-worker.ts';
import { startNodeWorker } from './node-worker.ts';
import { isNode } from './runtime.ts';
import type { StartWorker } from './worker-link.ts';

export const startWorker: StartWorker = isNode ? startNodeWorker : startBrowserWorker;
