/**
 * A search in your own texts, by meaning and by words: documents are cut into passages, an embedding
 * model makes a vector of each, and all of it is kept on the device.
 *
 * @module
 */
export { isText, readText } from './read-text.ts';
export type { PdfDocument, Pdfjs, ReadText, ReadTextOptions } from './read-text.ts';
export { SearchIndex } from './search-index.ts';
export type {
  AddOptions,
  ComputeOptions,
  SearchDocument,
  SearchHit,
  SearchIndexOptions,
  SearchIndexSettings,
  SearchOptions,
} from './types.ts';
