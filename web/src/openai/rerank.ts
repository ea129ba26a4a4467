// Ranking, in the form that other services use: OpenAI's API has none.
import { KingletError } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import { checked, reading } from './request.ts';
import { present } from './sampling.ts';
import type { RequestOptions } from './types.ts';

export interface RerankParams {
  /** Any name: there is only one model, and answers repeat the name. */
  model?: string | undefined;
  query: string;
  documents: readonly (string | { text: string })[];
  /** Return only this many documents, the best ones. Default: all. */
  top_n?: number | null | undefined;
  /** Include the documents' texts in the answer. Default false. */
  return_documents?: boolean | null | undefined;
}

/** The results, best first. A larger score is better; the scale depends on the model. */
export interface RerankAnswer {
  object: 'list';
  model: string;
  results: { index: number; relevance_score: number; document?: { text: string } }[];
}

const known = ['model', 'query', 'documents', 'top_n', 'return_documents', 'user'];

export async function rerank(
  model: Kinglet,
  given: RerankParams,
  { signal }: RequestOptions,
): Promise<RerankAnswer> {
  const params = reading(() => checked(given, { documents: { text: 'any' } }));
  for (const name of Object.keys(params)) {
    if (known.includes(name)) continue;
    throw new KingletError('invalid_argument', `the parameter "${name}" is not supported`);
  }
  const { query, documents, top_n: topN, return_documents: isWhole } = params;
  const list: unknown = documents;
  // model.rerank() refuses documents that have no text.
  const texts = (Array.isArray(list) ? (list as (typeof documents)[0][]) : []).map((document) =>
    typeof document === 'string' ? document : (document as { text: string } | null)?.text,
  ) as string[];
  const ranked = await model.rerank(query, texts, present({ topN, signal }));
  return {
    ...{ object: 'list', model: params.model ?? model.info.name },
    results: ranked.map(({ index, score }) => ({
      ...{ index, relevance_score: score },
      ...(isWhole === true && { document: { text: texts[index] ?? '' } }),
    })),
  };
}
