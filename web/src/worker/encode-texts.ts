// Computes embeddings and scores of whole texts.
import type { EngineEncoder, EngineModel } from '#engine';
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

/** How long messages wait at most, unless a single step takes longer. */
const turnMs = 50;

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

/** Returns the file's pooling. */
function poolingOf(model: EngineModel): string {
  const found = model.vectorPooling();
  if (found.error?.code === 'missing_metadata') {
    throw new KingletError('missing_metadata', `${found.error.message}: set the option pooling`);
  }
  return unwrap(found);
}

/** Computes the texts in groups, and calls `read` with each text's index in the group. */
async function encode<Text>(
  model: EngineModel,
  texts: readonly Text[],
  tokensOf: (text: Text) => Int32Array,
  work: EncodingWork,
  read: (encoder: EngineEncoder, i: number) => void,
): Promise<void> {
  const encoder = model.newEncoder();
  try {
    for (let done = 0; done < texts.length;) {
      const group = addGroup(encoder, texts, done, tokensOf);
      await compute(encoder, work);
      for (let i = 0; i < group; ++i) read(encoder, i);
      done += group;
      work.onProgress({ done, total: texts.length });
    }
  } finally {
    encoder.delete();
  }
}

/** Adds texts from `first` on until the group is full, and returns how many. */
function addGroup<Text>(
  encoder: EngineEncoder,
  texts: readonly Text[],
  first: number,
  tokensOf: (text: Text) => Int32Array,
): number {
  encoder.clear();
  let end = first;
  for (let isFull = false; end < texts.length && !isFull; ++end) {
    const tokens = named(end, () => tokensOf(texts[end] as Text));
    if (tokens.length === 0) {
      throw new KingletError('invalid_argument', `text ${String(end)} has no tokens`);
    }
    isFull = encoder.add(tokens);
  }
  return end - first;
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

async function compute(encoder: EngineEncoder, work: Work): Promise<void> {
  checkWanted(work);
  let turnBegan = performance.now();
  for (let nLeft = unwrap(encoder.begin(work.id)); nLeft > 0;) {
    nLeft = unwrap(encoder.advance());
    if (performance.now() - turnBegan < turnMs) continue;
    await yieldToMessages();
    checkWanted(work);
    turnBegan = performance.now();
  }
}
