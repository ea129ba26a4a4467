// Small models that are known to run here. Those of Bonsai were tried in their shapes and with random
// weights, not with the files themselves, whose sizes the hub gives.

export interface KnownModel {
  name: string;
  about: string;
  bytes: number;
  licence: string;
  /** As Kinglet.load() takes it: hf:owner/repo/file */
  address: string;
}

export const knownModels: readonly KnownModel[] = [
  {
    name: 'Stories 15M',
    about: 'Children’s stories, in whole paragraphs',
    bytes: 19_077_344,
    licence: 'MIT',
    address: 'hf:ggml-org/models/tinyllamas/stories15M-q4_0.gguf',
  },
  {
    name: 'SmolLM2 135M Instruct',
    about: 'The smallest that chats',
    bytes: 144_811_456,
    licence: 'Apache 2.0',
    address: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q8_0.gguf',
  },
  {
    name: 'Bonsai 1.7B, 1 bit',
    about: 'One bit for each weight: a 1.7 B model in a quarter of a gigabyte',
    bytes: 248_302_272,
    licence: 'Apache 2.0',
    address: 'hf:prism-ml/Bonsai-1.7B-gguf/Bonsai-1.7B-Q1_0.gguf',
  },
  {
    name: 'Gemma 3 270M',
    about: 'Many languages, follows instructions',
    bytes: 291_545_600,
    licence: 'Gemma terms',
    address: 'hf:ggml-org/gemma-3-270m-it-GGUF/gemma-3-270m-it-Q8_0.gguf',
  },
  {
    name: 'SmolLM2 360M Instruct',
    about: 'Chats in English, quick on most laptops',
    bytes: 386_404_992,
    licence: 'Apache 2.0',
    address: 'hf:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf',
  },
  {
    name: 'Qwen 2.5 0.5B Instruct',
    about: 'Chats in many languages, writes a little code',
    bytes: 491_400_032,
    licence: 'Apache 2.0',
    address: 'hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf',
  },
  {
    name: 'Bonsai 4B, 1 bit',
    about: 'One bit for each weight, as large a file as a common 1 B model',
    bytes: 572_270_624,
    licence: 'Apache 2.0',
    address: 'hf:prism-ml/Bonsai-4B-gguf/Bonsai-4B-Q1_0.gguf',
  },
  {
    name: 'Qwen 3 0.6B',
    about: 'Thinks before it answers',
    bytes: 639_446_688,
    licence: 'Apache 2.0',
    address: 'hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf',
  },
  {
    name: 'Llama 3.2 1B Instruct',
    about: 'Knows more than the smaller ones; wants a fast machine',
    bytes: 807_694_464,
    licence: 'Llama 3.2 Community',
    address: 'hf:bartowski/Llama-3.2-1B-Instruct-GGUF/Llama-3.2-1B-Instruct-Q4_K_M.gguf',
  },
  {
    name: 'Bonsai 8B, 1 bit',
    about: 'The largest that fits a page; wants a fast machine',
    bytes: 1_158_654_496,
    licence: 'Apache 2.0',
    address: 'hf:prism-ml/Bonsai-8B-gguf/Bonsai-8B-Q1_0.gguf',
  },
];

/** Models that embed texts, to search them by. Sizes are about those that the hub gives. */
export const embeddingModels: readonly KnownModel[] = [
  {
    name: 'all-MiniLM-L6-v2',
    about: 'The smallest and quickest, for English',
    bytes: 25_000_000,
    licence: 'Apache 2.0',
    address: 'hf:second-state/All-MiniLM-L6-v2-Embedding-GGUF/all-MiniLM-L6-v2-Q8_0.gguf',
  },
  {
    name: 'bge-small-en-v1.5',
    about: 'Twice as many layers, finds more; English',
    bytes: 36_700_000,
    licence: 'MIT',
    address: 'hf:CompendiumLabs/bge-small-en-v1.5-gguf/bge-small-en-v1.5-q8_0.gguf',
  },
  {
    name: 'nomic-embed-text-v1.5',
    about: 'Good with long passages; English',
    bytes: 146_146_432,
    licence: 'Apache 2.0',
    address: 'hf:nomic-ai/nomic-embed-text-v1.5-GGUF/nomic-embed-text-v1.5.Q8_0.gguf',
  },
  {
    name: 'EmbeddingGemma 300M',
    about: 'More than a hundred languages; wants a fast machine',
    bytes: 333_590_944,
    licence: 'Gemma terms',
    address: 'hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf',
  },
];

/** The page of a model on the hub. */
export function hubPage({ address }: KnownModel): string {
  const [owner, repo] = address.slice('hf:'.length).split('/');
  return `https://huggingface.co/${owner ?? ''}/${repo ?? ''}`;
}
