// What embedding models want before a query, and before a passage: they were trained with it.

export interface Prompts {
  query: string;
  passage: string;
}

interface Rule {
  /** Of `ARCHITECTURE name file name`, in small letters, with "-" between words. */
  fits: RegExp;
  prompts: Prompts;
}

const retrieval = 'Represent this sentence for searching relevant passages: ';

/** From the cards of the models. The first that fits counts. */
const rules: readonly Rule[] = [
  {
    fits: /^nomic-bert\b|nomic-embed/,
    prompts: { query: 'search_query: ', passage: 'search_document: ' },
  },
  {
    fits: /^gemma-embedding\b|embedding-?gemma/,
    prompts: { query: 'task: search result | query: ', passage: 'title: none | text: ' },
  },
  {
    fits: /qwen-?3-embedding/,
    prompts: {
      query:
        'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:',
      passage: '',
    },
  },
  { fits: /\be5-(?:small|base|large)\b/, prompts: { query: 'query: ', passage: 'passage: ' } },
  { fits: /arctic-embed.*v2/, prompts: { query: 'query: ', passage: '' } },
  { fits: /\bbge-.*-en\b|arctic-embed|mxbai-embed/, prompts: { query: retrieval, passage: '' } },
];

const none: Prompts = { query: '', passage: '' };

/** For models that are not known, none. */
export function promptsFor(model: {
  architecture: string;
  name: string;
  fileName: string;
}): Prompts {
  const { architecture, name, fileName } = model;
  const text = [architecture, name, fileName].join(' ').toLowerCase().replace(/[_ .]/g, '-');
  return rules.find(({ fits }) => fits.test(text))?.prompts ?? none;
}
