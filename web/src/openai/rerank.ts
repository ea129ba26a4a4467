// Ranking, as services beside OpenAI's spell it: its own API has none.
import { KingletError } from '../errors.ts';
import type { Kinglet } from '../kinglet.ts';
import { present } from './sampling.ts';
import type { RequestOptions } from './types.ts';

export interface RerankParams {
  /** Any name: there is one model, and answers repeat the name. */
  model?: string | undefined;
  query: string;
  documents: readonly (string | { text: string })[];
  /** Give the best ones only. Default: all. */
  top_n?: number | null | undefined;
  /** Answer with the documents' texts, too. Default false. */
  return_documents?: boolean | null | undefined;
}

/** Best first. A score is larger where a document answers the query better, on the model's scale. */
export interface RerankAnswer {
  object: 'list';
  model: string;
  results: { index: number; relevance_score: number; document?: { text: string } }[];
}

const known = ['model', 'query', 'documents', 'top_n', 'return_documents', 'user'];

export async function rerank(
  model: Kinglet,
  params: RerankParams,
  { signal }: RequestOptions,
): Promise<RerankAnswer> {
  for (const name of Object.keys(params)) {
    if (known.includes(name)) continue;
    throw new KingletError('invalid_argument', `the parameter "${name}" is not supported`);
  }
  const { query, documents, top_n: topN, return_documents: isWhole } = params;
  const given: unknown = documents;
  // What is no text is refused below.
  const texts = (Array.isArray(given) ? (given as (typeof documents)[0][]) : []).map((document) =>
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
