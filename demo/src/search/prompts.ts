// The prompts that embedding models need before a query and before a passage: they were trained so.

export interface Prompts {
  query: string;
  passage: string;
}

interface Rule {
  /** Tests `ARCHITECTURE name file name` in lower case, with "-" between words. */
  fits: RegExp;
  prompts: Prompts;
}

const retrieval = 'Represent this sentence for searching relevant passages: ';

/** The first rule that fits is used. Source: the cards of the models. */
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

/** The prompts for a model; empty for unknown models. */
export function promptsFor(model: {
  architecture: string;
  name: string;
  fileName: string;
}): Prompts {
  const { architecture, name, fileName } = model;
  const text = [architecture, name, fileName].join(' ').toLowerCase().replace(/[_ .]/g, '-');
  return rules.find(({ fits }) => fits.test(text))?.prompts ?? none;
}
