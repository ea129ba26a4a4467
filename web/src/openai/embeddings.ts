import { base64Of } from '../base64.ts';
import type { Kinglet } from '../kinglet.ts';
import { KingletError } from '../errors.ts';
import { checked, reading } from './request.ts';
import { present, refuseUnknown } from './sampling.ts';
import { promptsOf } from './text-completions.ts';
import type { EmbeddingList, EmbeddingParams, RequestOptions } from './types.ts';

export class Embeddings {
  readonly #model: Kinglet;

  /** @internal */
  constructor(model: Kinglet) {
    this.#model = model;
  }

  /**
   * Returns a vector of length 1 for each input: see {@link Kinglet.embed}. As in OpenAI's client,
   * the type of a vector is `number[]` even where `encoding_format` may make it a string.
   */
  create(
    params: EmbeddingParams & { encoding_format: 'base64' },
    options?: RequestOptions,
  ): Promise<EmbeddingList<string>>;
  create(params: EmbeddingParams, options?: RequestOptions): Promise<EmbeddingList>;
  async create(
    given: EmbeddingParams,
    { signal }: RequestOptions = {},
  ): Promise<EmbeddingList<number[] | string>> {
    const params = reading(() => {
      refuseUnknown(given, ['input', 'encoding_format', 'dimensions', 'pooling']);
      return checked(given, {});
    });
    const { pooling, dimensions, encoding_format } = params;
    const format = encoding_format ?? 'float';
    const encode = encodings[format] as (typeof encodings)[typeof format] | undefined;
    if (!encode) {
      throw new KingletError(
        'invalid_argument',
        `the encoding_format "${format}" is not supported`,
      );
    }
    const inputs = promptsOf(params.input);
    const wanted = present({ pooling, dimensions, signal });
    const { embeddings, nTokens } = await this.#model.embedCounted(inputs, wanted);
    const total = nTokens.reduce((sum, n) => sum + n, 0);
    return {
      object: 'list',
      data: embeddings.map((vector, index) => ({
        ...({ object: 'embedding', index } as const),
        embedding: encode(vector),
      })),
      model: params.model ?? this.#model.info.name,
      usage: { prompt_tokens: total, total_tokens: total },
    };
  }
}

const encodings = {
  float: (vector: Float32Array): number[] | string => [...vector],
  base64: (vector: Float32Array): number[] | string =>
    base64Of(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)),
};
