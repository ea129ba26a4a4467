// Computes embeddings and scores of whole texts.
import type { EngineEncoder, EngineModel, EngineModelInfo } from '#engine';
import { KingletError } from '../errors.ts';
import type { Embeddings, PostedEmbedOptions } from '../protocol.ts';
import type { EncodeProgress } from '../types.ts';
import { unwrap } from './engine-error.ts';
import { checkWanted } from './work.ts';
import type { Work } from './work.ts';
import { yieldToMessages } from './yield.ts';

export interface EncodingWork extends Work {
  /** Called whenever texts are done. */
  onProgress(progress: EncodeProgress): void;
}

/** Texts are computed together up to this many tokens. Larger groups would not be faster. */
const groupTokens = 512;

/** How long messages wait at most, unless a single step takes longer. */
const turnMs = 50;

/** Returns the embedding of each text. */
export async function embedTexts(
  model: EngineModel,
  texts: readonly (string | Int32Array)[],
  { pooling: wanted, normalize, dimensions, prompt, truncate }: PostedEmbedOptions,
  work: EncodingWork,
): Promise<Embeddings> {
  const info = model.info();
  const { embeddingSize } = info;
  const pooling = wanted ?? poolingOf(info);
  if (dimensions !== undefined && dimensions > embeddingSize) {
    throw new KingletError(
      'invalid_argument',
      `the model's embeddings have ${String(embeddingSize)} dimensions, not ${String(dimensions)}`,
    );
  }
  const found: Embeddings = { embeddings: [], nTokens: [] };
  const tokensOf = (text: string | Int32Array) => {
    const tokens =
      typeof text === 'string' ? unwrap(model.embeddingTokens(prompt + text, truncate)) : text;
    found.nTokens.push(tokens.length);
    return tokens;
  };
  await encode(model, texts, tokensOf, work, (encoder, i) => {
    const kept = dimensions ?? embeddingSize;
    found.embeddings.push(unwrap(encoder.embedding(i, pooling, kept, normalize)));
  });
  return found;
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
  const scores: number[] = [];
  const tokensOf = (document: string) => unwrap(model.rankingTokens(query, document, truncate));
  await encode(model, documents, tokensOf, work, (encoder, i) => {
    scores.push(unwrap(encoder.scores(i))[0] ?? 0);
  });
  return Float32Array.from(scores);
}

/** Returns the vector of each text, not scaled; with the pooling "rank" its scores. */
export async function encodeTokens(
  model: EngineModel,
  texts: readonly Int32Array[],
  pooling: string,
  work: EncodingWork,
): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  const { embeddingSize } = model.info();
  await encode(
    model,
    texts,
    (tokens) => tokens,
    work,
    (encoder, i) => {
      const row =
        pooling === 'rank'
          ? encoder.scores(i)
          : encoder.embedding(i, pooling, embeddingSize, false);
      rows.push(unwrap(row));
    },
  );
  return rows;
}

/** Returns the file's pooling, or the mean if a model for text has none. */
function poolingOf({ purpose, pooling, architecture }: EngineModelInfo): string {
  if (purpose === 'ranking') {
    throw new KingletError('unsupported_feature', 'a reranker computes scores, not embeddings');
  }
  if (pooling !== '' && pooling !== 'none') return pooling;
  if (purpose === 'text') return 'mean';
  throw new KingletError(
    'missing_metadata',
    `${architecture}.pooling_type is missing: the file does not say how a text's tokens become ` +
      'one vector: set the option pooling',
  );
}

/** Computes the texts in groups, and calls `read` with each text's index in the group. */
async function encode<Text>(
  model: EngineModel,
  texts: readonly Text[],
  tokensOf: (text: Text) => Int32Array,
  work: EncodingWork,
  read: (encoder: EngineEncoder, i: number) => void,
): Promise<void> {
  let encoder: EngineEncoder | undefined;
  let room = 0;
  try {
    for (let done = 0; done < texts.length;) {
      const group = nextGroup(texts, done, tokensOf);
      const nTokens = group.reduce((sum, tokens) => sum + tokens.length, 0);
      if (!encoder || nTokens > room) {
        encoder?.delete();
        encoder = undefined;
        room = nTokens;
        encoder = unwrap(model.newEncoder(room));
      }
      await compute(encoder, group, work);
      for (const i of group.keys()) read(encoder, i);
      done += group.length;
      work.onProgress({ done, total: texts.length });
    }
  } finally {
    encoder?.delete();
  }
}

function nextGroup<Text>(
  texts: readonly Text[],
  first: number,
  tokensOf: (text: Text) => Int32Array,
): Int32Array[] {
  const group: Int32Array[] = [];
  let nTokens = 0;
  for (const [i, text] of texts.slice(first, first + groupTokens).entries()) {
    const tokens = named(first + i, () => tokensOf(text));
    if (tokens.length === 0) {
      throw new KingletError('invalid_argument', `text ${String(first + i)} has no tokens`);
    }
    group.push(tokens);
    nTokens += tokens.length;
    if (nTokens >= groupTokens) break;
  }
  return group;
}

/** Adds to an error's message which text it is about. */
function named<T>(index: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof KingletError)) throw error;
    throw new KingletError(error.code, `text ${String(index)}: ${error.message}`);
  }
}

async function compute(encoder: EngineEncoder, group: Int32Array[], work: Work): Promise<void> {
  checkWanted(work);
  let turnBegan = performance.now();
  for (let nLeft = unwrap(encoder.begin(group, work.id)); nLeft > 0;) {
    nLeft = unwrap(encoder.advance());
    if (performance.now() - turnBegan < turnMs) continue;
    await yieldToMessages();
    checkWanted(work);
    turnBegan = performance.now();
  }
}
