// Checks options and fills in their defaults before anything is posted. The engine's numbers are
// typed, so values that JavaScript allows (a string, NaN, 2.5 tokens) must be refused here.
import { isConversation } from './conversation.ts';
import { KingletError, messageOf } from './errors.ts';
import type {
  Conversation,
  GenerateNumbers,
  KvChoices,
  PostedClassification,
  PostedEmbedOptions,
  PostedEncoding,
  PostedGenerateOptions,
  PostedLoadOptions,
  PostedPrompt,
  PromptPlace,
  PostedSessionOptions,
} from './protocol.ts';
import { plainSchema } from './plain-schema.ts';
import { isNode } from './runtime.ts';
import { samplingRules } from './sampling-rules.ts';
import { absoluteUrl, hubRepositoryOf, postedSource } from './source.ts';
import { kvKinds, numberRules, poolings, sequenceBreakers } from './option-tables.generated.ts';
import type {
  ChatOptions,
  ClassifyOptions,
  DetokenizeOptions,
  EmbeddingTables,
  EmbedOptions,
  GenerateOptions,
  InspectOptions,
  KvOption,
  LabelledText,
  LoadOptions,
  ModelSource,
  OnFull,
  Pooling,
  RerankOptions,
  SessionInfo,
  SessionOptions,
  TokenizeOptions,
} from './types.ts';
import type { WorkerPlace } from './worker-link.ts';

interface NumberRule {
  min: number;
  max: number;
  /** If true, `min` itself is not allowed. */
  above?: boolean;
  integer?: boolean;
}

const maxUint32 = 2 ** 32 - 1;
const maxInt32 = 2 ** 31 - 1;

const tokenRule: NumberRule = { min: 0, max: maxInt32, integer: true };

export const countRule: NumberRule = { min: 1, max: maxUint32, integer: true };

/** A number without a default is random. */
export const generateRules: Record<keyof GenerateNumbers, NumberRule & { default?: number }> = {
  maxTokens: numberRules.maxTokens,
  ...samplingRules,
  seed: { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true },
  logprobs: { ...numberRules.logprobs, default: -1 }, // none are computed
  lookup: numberRules.lookup,
};

export const generateOptionNames = [
  ...Object.keys(generateRules),
  ...['drySequenceBreakers', 'stop', 'logitBias', 'grammar', 'jsonSchema', 'indent', 'onFull'],
  ...['openObjects', 'signal', 'addBos', 'parseSpecial'],
];

export const chatPromptOptionNames = ['addGenerationPrompt', 'tools', 'variables'];

export const chatOptionNames = [
  ...generateOptionNames.filter((name) => name !== 'addBos' && name !== 'parseSpecial'),
  ...['tools', 'toolChoice', 'variables', 'trustContent', 'prefix'],
  ...['onImage', 'maxThinkingTokens'],
];

/** Expects known names only. `recommended`: the file's values, used if the caller gives none. */
export function postedGenerateOptions(
  options: AnswerOptions,
  recommended: Partial<GenerateNumbers> = {},
): PostedGenerateOptions {
  const numberOf = (name: keyof GenerateNumbers): number => {
    const given = options[name];
    const rule = generateRules[name];
    if (given !== undefined) return checkedNumber(name, given, rule);
    return recommended[name] ?? rule.default ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  };
  const names = Object.keys(generateRules) as (keyof GenerateNumbers)[];
  return {
    ...(Object.fromEntries(names.map((name) => [name, numberOf(name)])) as GenerateNumbers),
    ...checkedGrammar(options),
    stop: checkedList('stop', options.stop ?? []),
    drySequenceBreakers: checkedList(
      'drySequenceBreakers',
      options.drySequenceBreakers ?? sequenceBreakers,
    ),
    logitBias: checkedLogitBias(options.logitBias ?? {}),
  };
}

function checkedList(name: string, list: unknown): string[] {
  if (Array.isArray(list) && !list.includes('')) {
    return Array.from(list, (text, i) => checkedText(text, `${name}[${String(i)}]`));
  }
  const message = `${name} must be an array of strings, none of them empty`;
  throw new KingletError('invalid_argument', message);
}

function checkedLogitBias(biases: Record<number, number>): [number, number][] {
  return Object.entries(checkedObject('logitBias', biases)).map(([key, bias]) => {
    // Number('') is 0, and Number('0x1') is 1.
    const token = /^\d+$/.test(key) ? Number(key) : key;
    return [
      checkedNumber('a token of logitBias', token, tokenRule),
      checkedNumber(`logitBias of token ${key}`, bias, numberRules.logitBias),
    ];
  });
}

function checkedGrammar({
  grammar,
  jsonSchema,
  indent = 0,
  openObjects = false,
}: AnswerOptions): Pick<
  PostedGenerateOptions,
  'grammar' | 'jsonSchema' | 'indent' | 'openObjects'
> {
  checkedNumber('indent', indent, numberRules.indent);
  if (grammar !== undefined && jsonSchema !== undefined) {
    throw new KingletError(
      'invalid_argument',
      'an answer cannot match both a grammar and a jsonSchema',
    );
  }
  if (indent > 0 && jsonSchema === undefined) {
    throw new KingletError('invalid_argument', 'indent needs a jsonSchema');
  }
  checkedFlag('openObjects', openObjects);
  if (openObjects && jsonSchema === undefined) {
    throw new KingletError('invalid_argument', 'openObjects needs a jsonSchema');
  }
  return {
    grammar: checkedGbnf(grammar),
    jsonSchema:
      jsonSchema === undefined ? '' : jsonOf('jsonSchema', jsonSchema, { hasFunctions: false }),
    indent,
    openObjects,
  };
}

function checkedGbnf(grammar: string | undefined): string {
  if (grammar === '') throw new KingletError('invalid_grammar', 'the grammar is empty');
  return grammar === undefined ? '' : checkedText(grammar, 'the grammar');
}

/**
 * Returns a value as JSON, and validators' objects in it as their JSON schemas. `name`: what it is,
 * for errors. `hasFunctions`: whether it may have functions, which JSON leaves out.
 */
export function jsonOf(name: string, value: unknown, { hasFunctions = true } = {}): string {
  try {
    const json = JSON.stringify(value, (key, inner: unknown) => {
      if (typeof inner === 'function' && !hasFunctions) {
        throw new TypeError(`${key || 'it'} is a function`);
      }
      return typeof inner === 'string' ? checkedText(inner, `the ${name}`) : plainSchema(inner);
    }) as string | undefined;
    return json ?? 'null';
  } catch (error) {
    if (error instanceof KingletError) throw error;
    throw new KingletError(
      'invalid_argument',
      `the ${name} cannot be written as JSON: ${messageOf(error)}`,
    );
  }
}

/**
 * `model`: the model's source. If that is on the hub, its repository may also have an mmproj file.
 */
export function postedLoadOptions(
  options: LoadOptions,
  model?: ModelSource | readonly ModelSource[],
): PostedLoadOptions {
  checkOptions(options, [
    ...['onProgress', 'signal', 'nThreads', 'kernels', 'nCtx'],
    ...['kv', 'hubBase', 'headers', 'stallTimeout', 'cache', 'onWarning', 'spareMemory'],
    ...['workerUrl', 'engineUrl', 'blobWorker', 'worker', 'shared'],
    'embeddingTables',
    ...['chatTemplate', 'mmproj', 'prepared', 'keepPrompts'],
  ]);
  const { nThreads, kernels, nCtx, kv = 'auto', headers = {}, stallTimeout = 30_000 } = options;
  if (nThreads !== undefined) checkedNumber('nThreads', nThreads, numberRules.nThreads);
  if (nCtx !== undefined) checkedNumber('nCtx', nCtx, numberRules.nCtx);
  if (kernels !== undefined && typeof kernels !== 'string') {
    throw new KingletError('invalid_argument', 'kernels must be the name of a kernel set');
  }
  const chatTemplate =
    options.chatTemplate === undefined
      ? undefined
      : checkedText(options.chatTemplate, 'the chatTemplate');
  if (chatTemplate === '') {
    throw new KingletError('invalid_argument', 'the chatTemplate is empty');
  }
  checkedFlag('shared', options.shared ?? false);
  checkedNumber('stallTimeout', stallTimeout, { min: 1, max: maxInt32 });
  const spareMemory = options.spareMemory ?? 2 ** 28;
  checkedNumber('spareMemory', spareMemory, { min: 0, max: 2 ** 32 });
  return {
    ...{ nThreads, kernels, nCtx, stallTimeout, spareMemory, chatTemplate },
    kv: checkedKv(kv),
    embeddingTables: checkedTables(options.embeddingTables ?? 'auto'),
    headers: checkedHeaders(headers),
    cache: postedCache(options.cache ?? true),
    engineUrl: options.engineUrl === undefined ? undefined : folderUrl(options.engineUrl),
    mmproj:
      options.mmproj === undefined ? undefined : postedSource(options.mmproj, options, 'mmproj'),
    prepared: checkedSources(options.prepared ?? []).map((source, i) =>
      postedSource(source, options, `prepared[${String(i)}]`),
    ),
    keptPromptBytes: options.keepPrompts && checkedKeptBytes(options.keepPrompts),
    hub: hubRepositoryOf(model, options),
  };
}

function checkedSources(sources: unknown): readonly ModelSource[] {
  if (Array.isArray(sources)) return Array.from(sources as readonly ModelSource[]);
  const message = `prepared must be an array of sources, not ${shown(sources)}`;
  throw new KingletError('invalid_argument', message);
}

function checkedKeptBytes(keep: { maxBytes: number }): number {
  const max = Number.MAX_SAFE_INTEGER;
  return checkedNumber('keepPrompts.maxBytes', keep.maxBytes, { min: 1, max, integer: true });
}

export function workerPlace(options: InspectOptions): WorkerPlace {
  const { worker, workerUrl, blobWorker = false } = options;
  const isBlob = checkedFlag('blobWorker', blobWorker);
  const make = typeof worker === 'function' ? worker : undefined;
  const where = make ? 'own' : checkedWhere(worker);
  if ((make ?? where === 'here') && (isBlob || workerUrl !== undefined)) {
    const given = make ? 'worker' : 'worker: "here"';
    const message = `${given} cannot be combined with workerUrl or blobWorker`;
    throw new KingletError('invalid_argument', message);
  }
  if (isNode && (make ?? isBlob)) {
    const message = 'worker and blobWorker are for browsers; in Node, use workerUrl';
    throw new KingletError('invalid_argument', message);
  }
  const url = workerUrl === undefined ? undefined : absoluteUrl(workerUrl);
  return { where, make, isBlob, url };
}

function checkedWhere(where: unknown): WorkerPlace['where'] {
  if (where === undefined || where === 'own' || where === 'here') return where;
  const expected = '"own", "here" or a function that returns a Worker';
  throw new KingletError('invalid_argument', `worker must be ${expected}, not ${shown(where)}`);
}

function folderUrl(folder: string | URL): string {
  const url = absoluteUrl(folder);
  return url.endsWith('/') ? url : `${url}/`;
}

function checkedTables(place: unknown): EmbeddingTables {
  if (place === 'auto' || place === 'memory' || place === 'file') return place;
  throw new KingletError(
    'invalid_argument',
    `embeddingTables must be "auto", "memory" or "file", not ${shown(place)}`,
  );
}

function postedCache(cache: unknown): PostedLoadOptions['cache'] {
  if (cache === false) return undefined;
  if (cache === true) return { folder: undefined };
  if (typeof cache === 'string' && cache !== '' && isNode) return { folder: cache };
  const expected = isNode ? 'a folder, true or false' : 'true or false';
  throw new KingletError('invalid_argument', `cache must be ${expected}, not ${shown(cache)}`);
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch (error) {
    throw new KingletError('invalid_argument', `headers: ${messageOf(error)}`);
  }
}

/** The defaults of `nCtx` and `kv` are those of the first session. */
export function postedSessionOptions(
  options: SessionOptions,
  first: SessionInfo,
): PostedSessionOptions {
  checkOptions(options, ['nCtx', 'kv', 'kvPool']);
  const { kv = first.kv, kvPool } = options;
  const nCtx =
    options.nCtx === undefined ? first.nCtx : checkedNumber('nCtx', options.nCtx, numberRules.nCtx);
  const poolRule = { ...numberRules.kvPool, min: Math.max(nCtx, numberRules.kvPool.min) };
  return {
    nCtx,
    kv: checkedKv(kv),
    kvPool: kvPool === undefined ? 0 : checkedNumber('kvPool', kvPool, poolRule),
  };
}

function isPair(kv: KvOption): kv is Exclude<KvOption, string> {
  return typeof kv === 'object' && (kv as object | null) !== null;
}

function checkedKv(kv: KvOption): KvChoices {
  const { k, v } = isPair(kv) ? kv : { k: kv, v: kv };
  for (const kind of [k, v] as unknown[]) {
    if (kind === 'auto' || kvKinds.some((known) => known === kind)) continue;
    throw new KingletError(
      'invalid_argument',
      `kv must be auto, one of ${kvKinds.join(', ')}, or { k, v } of them, not ${shown(kind)}`,
    );
  }
  return { k, v };
}

export function postedEncoding(options: TokenizeOptions): PostedEncoding {
  checkOptions(options, ['addBos', 'parseSpecial']);
  const { addBos, parseSpecial } = options;
  return {
    addBos: checkedFlag('addBos', addBos ?? true),
    parseSpecial: checkedFlag('parseSpecial', parseSpecial ?? false),
  };
}

/** Returns whether to include the text of control tokens. */
export function checkedSpelling(options: DetokenizeOptions): boolean {
  checkOptions(options, ['special']);
  return checkedFlag('special', options.special ?? false);
}

/** The options of generate() and of chat(). */
export type AnswerOptions = Omit<GenerateOptions, 'onFull'> &
  Pick<ChatOptions, 'prefix' | 'onFull' | 'onImage'>;

export function postedPrompt(
  prompt: string | ArrayLike<number> | Conversation,
  { addBos, parseSpecial, prefix = '', onFull = 'error' }: AnswerOptions,
  place: PromptPlace,
): PostedPrompt {
  return {
    content: isConversation(prompt) ? prompt : checkedContent(prompt),
    ...place,
    addBos: addBos === undefined ? undefined : checkedFlag('addBos', addBos),
    parseSpecial: checkedFlag('parseSpecial', parseSpecial ?? false),
    prefix: checkedContent(prefix),
    onFull: checkedOnFull(onFull, isConversation(prompt)),
  };
}

function checkedOnFull(onFull: unknown, isConversation: boolean): OnFull {
  if (onFull === 'error' || onFull === 'shift') return onFull;
  if (onFull === 'dropOldest' && isConversation) return onFull;
  const choices = isConversation ? '"error", "dropOldest" or "shift"' : '"error" or "shift"';
  const reason = onFull === 'dropOldest' ? ': only chat() has messages that can be dropped' : '';
  const message = `onFull must be ${choices}, not ${shown(onFull)}${reason}`;
  throw new KingletError('invalid_argument', message);
}

export function checkedTexts(
  texts: readonly (string | ArrayLike<number>)[],
): (string | Int32Array)[] {
  return checkedArray('the texts', texts).map(checkedContent);
}

export function postedEmbedOptions(options: EmbedOptions): PostedEmbedOptions {
  checkOptions(options, [
    ...['pooling', 'normalize', 'dimensions', 'prompt'],
    ...['truncate', 'onProgress', 'signal'],
  ]);
  const { pooling, normalize = true, dimensions, prompt = '', truncate = false } = options;
  return {
    pooling: pooling === undefined ? undefined : checkedPooling(pooling),
    normalize: checkedFlag('normalize', normalize),
    dimensions:
      dimensions === undefined ? undefined : checkedNumber('dimensions', dimensions, countRule),
    prompt: checkedText(prompt, 'the prompt'),
    truncate: checkedFlag('truncate', truncate),
  };
}

export function checkedPooling(pooling: unknown): Pooling {
  const found = poolings.find((known) => known === pooling);
  if (found) return found;
  throw new KingletError(
    'invalid_argument',
    `pooling must be one of ${poolings.join(', ')}, not ${shown(pooling)}`,
  );
}

export function checkedRerankOptions({
  topN = Infinity,
  truncate = false,
  ...options
}: RerankOptions): { topN: number; truncate: boolean } {
  checkOptions(options, ['topN', 'truncate', 'onProgress', 'signal']);
  return {
    topN: topN === Infinity ? topN : checkedNumber('topN', topN, countRule),
    truncate: checkedFlag('truncate', truncate),
  };
}

export function postedClassification(
  texts: readonly string[],
  labels: readonly string[],
  options: ClassifyOptions,
): PostedClassification {
  checkOptions(options, ['instruction', 'examples', 'perToken', 'onProgress', 'signal']);
  const { instruction = '', examples = [], perToken = false } = options;
  return {
    texts: checkedArray('the texts', texts).map((text, i) =>
      checkedText(text, `texts[${String(i)}]`),
    ),
    labels: checkedList('labels', labels),
    instruction: checkedText(instruction, 'the instruction'),
    examples: checkedArray('the examples', examples).map(checkedExample),
    perToken: checkedFlag('perToken', perToken),
  };
}

function checkedExample(example: LabelledText, index: number): LabelledText {
  const name = `examples[${String(index)}]`;
  const { text, label, ...others } = checkedObject(name, example);
  checkOptions(others, ['text', 'label']);
  return { text: checkedText(text, `${name}.text`), label: checkedText(label, `${name}.label`) };
}

/** Holes of the list become undefined, which its items' checks refuse. */
function checkedArray<Item>(name: string, list: readonly Item[]): readonly Item[] {
  if (Array.isArray(list)) return Array.from(list as readonly Item[]);
  throw new KingletError('invalid_argument', `${name} must be an array, not ${shown(list)}`);
}

export function checkedDocuments(documents: readonly string[]): string[] {
  return checkedArray('the documents', documents).map((text, i) =>
    checkedText(text, `documents[${String(i)}]`),
  );
}

export function checkedThinking(maxTokens: number | undefined): number | undefined {
  const { maxThinkingTokens: rule } = numberRules;
  return maxTokens === undefined ? undefined : checkedNumber('maxThinkingTokens', maxTokens, rule);
}

export function checkedBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  throw new KingletError(
    'invalid_argument',
    'the state must be a Uint8Array, as save() returns it',
  );
}

export function checkedPositions(nPositions: unknown): number {
  return checkedNumber('nPositions', nPositions, { min: 0, max: maxUint32, integer: true });
}

/** Not `instanceof`: an application may have the package twice. */
export function checkModel(name: string, model: unknown): void {
  const { countTokens } = (model ?? {}) as { countTokens?: unknown };
  if (typeof countTokens === 'function') return;
  const message = `${name} must be a loaded model, a Kinglet, not ${shown(model)}`;
  throw new KingletError('invalid_argument', message);
}

export function checkedObject<T extends object>(name: string, value: T): T {
  if (typeof value === 'object' && (value as T | null) !== null) return value;
  throw new KingletError('invalid_argument', `${name} must be an object, not ${shown(value)}`);
}

/** Refuses half a surrogate pair, because the engine takes UTF-8, which cannot represent one. */
export function checkedText(text: unknown, name = 'the text'): string {
  if (typeof text !== 'string') {
    throw new KingletError('invalid_argument', `${name} must be a string, not ${shown(text)}`);
  }
  const lone = text.search(/\p{Surrogate}/u);
  if (lone >= 0) {
    const unit = text.charCodeAt(lone).toString(16).toUpperCase();
    throw new KingletError(
      'invalid_argument',
      `${name} is not valid Unicode: half a surrogate pair (U+${unit}) at index ${String(lone)}`,
    );
  }
  return text;
}

export function checkedFilled(text: unknown, name: string): string {
  if (text === '') throw new KingletError('invalid_argument', `${name} must not be empty`);
  return checkedText(text, name);
}

/** Of a cache or an index, in Node. */
export function checkedFolder(folder: unknown): string | undefined {
  return folder === undefined ? undefined : checkedFilled(folder, 'the folder');
}

function checkedContent(prompt: string | ArrayLike<number>): string | Int32Array {
  if (typeof prompt === 'object' && (prompt as object | null) !== null)
    return checkedTokens(prompt);
  return checkedText(prompt);
}

export function checkedTokens(tokens: ArrayLike<number>): Int32Array {
  return tokensOf(tokens, () => tokenRule);
}

/**
 * The tokens of a context: also the ids below -1, which stand for rows of pictures. -1 stands for no
 * token and is refused.
 */
export function checkedContext(tokens: ArrayLike<number>, nTokens: number): Int32Array {
  return tokensOf(tokens, (token) => ({
    ...{ ...tokenRule, min: token < -1 ? -maxInt32 - 1 : 0, max: nTokens - 1 },
  }));
}

function tokensOf(tokens: ArrayLike<number>, ruleFor: (token: number) => NumberRule): Int32Array {
  const { length } = checkedObject('the tokens', tokens) as { length: unknown };
  if (typeof length !== 'number') {
    const message = `the tokens must be an array of numbers, not ${shown(tokens)}`;
    throw new KingletError('invalid_argument', message);
  }
  return Int32Array.from(tokens, (token, i) =>
    checkedNumber(`token ${String(i)}`, token, ruleFor(token)),
  );
}

export function checkedNumber(name: string, value: unknown, rule: NumberRule): number {
  const { min, max, above, integer } = rule;
  if (
    typeof value !== 'number' ||
    !((above ? value > min : value >= min) && value <= max) ||
    (integer && !Number.isInteger(value))
  ) {
    const kind = integer ? 'a whole number' : 'a number';
    const range = above
      ? `more than ${String(min)}, up to ${String(max)}`
      : `from ${String(min)} to ${String(max)}`;
    throw new KingletError(
      'invalid_argument',
      `${name} must be ${kind} ${range}, not ${shown(value)}`,
    );
  }
  return value;
}

export function checkedFlag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new KingletError('invalid_argument', `${name} must be true or false, not ${shown(value)}`);
}

/** A value for messages. A string has quotes, so that "0.5" does not look like a number. */
export function shown(value: unknown): string {
  const maxLength = 100;
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) {
    return `an object (${Object.prototype.toString.call(value).slice(8, -1)})`;
  }
  if (typeof value === 'function') return 'a function';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > maxLength ? `${text.slice(0, maxLength)} …` : text;
}

/** Options that are functions, of any call. */
const functionNames = ['onProgress', 'onWarning', 'onChange', 'onImage', 'filter'];

/** Refuses unknown options, and checks those that many calls have in common. */
export function checkOptions(options: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(checkedObject('the options', options))) {
    if (!known.includes(name)) {
      throw new KingletError(
        'invalid_argument',
        `unknown option "${name}"; the options are ${known.join(', ')}`,
      );
    }
    if (name === 'signal') checkSignal(value);
    else if (functionNames.includes(name)) checkFunction(name, value);
  }
}

function checkFunction(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new KingletError('invalid_argument', `${name} must be a function, not ${shown(value)}`);
}

/** Not `instanceof`: it may come from another frame. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  const message = `signal must be an AbortSignal, not ${shown(signal)}`;
  throw new KingletError('invalid_argument', message);
}
