// Computes embeddings and scores of whole texts.
import type {
  EngineEncodingEvent,
  EngineEncodingRequest,
  EngineModel,
  EngineResult,
} from '#engine';
import { KingletError } from '../errors.ts';
import type {
  Embeddings,
  LabelRows,
  PostedClassification,
  PostedEmbedOptions,
} from '../protocol.ts';
import type { EncodeProgress } from '../types.ts';
import { unwrap } from './engine-error.ts';
import type { EngineLoop } from './engine-loop.ts';
import { checkWanted } from './work.ts';
import type { Work } from './work.ts';
import { turnMs, yieldToMessages } from './yield.ts';

export interface EncodingWork extends Work {
  loop: EngineLoop;
  /** Called whenever texts are done. */
  onProgress(progress: EncodeProgress): void;
}

/** Returns the embedding of each text. */
export async function embedTexts(
  model: EngineModel,
  texts: readonly (string | Int32Array)[],
  { pooling: wanted, normalize, dimensions, prompt, truncate }: PostedEmbedOptions,
  work: EncodingWork,
): Promise<Embeddings> {
  const { embeddingSize } = model.info();
  const pooling = wanted ?? poolingOf(model);
  if (dimensions !== undefined && dimensions > embeddingSize) {
    throw new KingletError(
      'invalid_argument',
      `the model's embeddings have ${String(embeddingSize)} dimensions, not ${String(dimensions)}`,
    );
  }
  const tokens = await tokensOf(texts, work, (text) =>
    typeof text === 'string'
      ? unwrap(model.embeddingTokens(prompt + text, truncate, work.id))
      : text,
  );
  const request = { texts: tokens, pooling, dimensions: dimensions ?? 0, normalizes: normalize };
  const embeddings = await encode(model, request, work);
  return { embeddings, nTokens: tokens.map(({ length }) => length) };
}

/** Returns the score of each document. */
export async function scoreTexts(
  model: EngineModel,
  query: string,
  documents: readonly string[],
  truncate: boolean,
  work: EncodingWork,
): Promise<Float32Array> {
  const { purpose, architecture } = model.info();
  if (purpose !== 'ranking') {
    throw new KingletError(
      'unsupported_feature',
      `this ${architecture} model is not a reranker: it cannot score texts`,
    );
  }
  const texts = await tokensOf(documents, work, (document) =>
    unwrap(model.rankingTokens(query, document, truncate, work.id)),
  );
  const request = { texts, pooling: 'rank', dimensions: 0, normalizes: false };
  const scores = await encode(model, request, work);
  return Float32Array.from(scores, ([first = 0]) => first);
}

/** Returns the probabilities of the labels for each text. */
export async function classifyTexts(
  model: EngineModel,
  { texts, ...request }: PostedClassification,
  work: EncodingWork,
): Promise<LabelRows> {
  const classifier = unwrap(model.newClassifier(request));
  try {
    const tokens = await tokensOf(texts, work, (text) => unwrap(classifier.tokens(text, work.id)));
    const rows = await runEncoding(tokens.length, work, model, (onEvent) => {
      classifier.classify(tokens, work.id, onEvent);
    });
    return { labels: classifier.labels(), rows };
  } finally {
    classifier.delete();
  }
}

/** Returns the file's pooling. */
function poolingOf(model: EngineModel): string {
  const found = model.vectorPooling();
  if (found.error?.code === 'missing_metadata') {
    throw new KingletError('missing_metadata', `${found.error.message}: set the option pooling`);
  }
  return unwrap(found);
}

/** Returns a row for each text. */
async function encode(
  model: EngineModel,
  request: Omit<EngineEncodingRequest, 'id'>,
  work: EncodingWork,
): Promise<Float32Array[]> {
  return runEncoding(request.texts.length, work, model, (onEvent) => {
    unwrap(model.encodeTexts({ ...request, id: work.id }, onEvent));
  });
}

/** Returns a row for each of `total` texts. */
async function runEncoding(
  total: number,
  work: EncodingWork,
  model: EngineModel,
  begin: (onEvent: (event: EngineResult<EngineEncodingEvent>) => void) => void,
): Promise<Float32Array[]> {
  checkWanted(work);
  const { id, loop } = work;
  const last = await loop.run<EngineResult<EngineEncodingEvent>>({
    isWanted: () => work.isWanted(),
    begin,
    read: (event) => {
      const { nDone, isLast } = unwrap(event);
      if (!isLast) work.onProgress({ done: nDone, total });
      return isLast;
    },
    cancel: () => {
      model.cancel(id);
    },
  });
  return unwrap(last).rows;
}

/** Names the text in an error's message. Lets messages in between. */
async function tokensOf<Text>(
  texts: readonly Text[],
  work: Work,
  read: (text: Text) => Int32Array,
): Promise<Int32Array[]> {
  const all: Int32Array[] = [];
  let before = performance.now();
  for (const [i, text] of texts.entries()) {
    try {
      all.push(read(text));
    } catch (error) {
      if (!(error instanceof KingletError)) throw error;
      throw new KingletError(error.code, `text ${String(i)}: ${error.message}`);
    }
    if (all[i]?.length === 0) {
      throw new KingletError('invalid_argument', `text ${String(i)} has no tokens`);
    }
    if (performance.now() - before < turnMs) continue;
    await yieldToMessages();
    checkWanted(work);
    before = performance.now();
  }
  return all;
}
