// Small models that are known to run in pages. The Bonsai models were tried with their shapes and
// with random weights, not with the real files; their sizes are the hub's.
import { parseHubAddress } from '../hub.ts';

/** A model on the hub. */
export interface HubModel {
  name: string;
  /** What it is good for, in a few English words. */
  about: string;
  /** The size of its files. */
  bytes: number;
  /** About the memory of its weights, if that is more: IQ1 to IQ3 grow while they load. */
  weightBytes?: number;
  licence: string;
  /** The source for `Kinglet.load()`: `hf:owner/repo/file`. */
  address: string;
}

/** A model that chats. */
export interface ChatModel extends HubModel {
  /** Numbers that a token adds to the keys and values: 2 × layers × width of all key heads. */
  kvNumbers: number;
}

/** A model that also reads pictures, with a second file: the option `mmproj` of `Kinglet.load()`. */
export interface PictureModel extends ChatModel {
  mmproj: { address: string; bytes: number };
}

/** Models that only continue a text. */
export const storyModels: readonly HubModel[] = [
  {
    name: 'Stories 15M',
    about: 'Children’s stories, in whole paragraphs',
    bytes: 19_077_344,
    licence: 'MIT',
    address: 'hf:ggml-org/models/tinyllamas/stories15M-q4_0.gguf',
  },
];

/** Models that chat, smallest first. */
export const chatModels: readonly ChatModel[] = [
  {
    name: 'SmolLM2 135M Instruct',
    about: 'The smallest that chats',
    bytes: 144_811_456,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 30 * 192,
    address: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q8_0.gguf',
  },
  {
    name: 'Bonsai 1.7B, 1 bit',
    about: 'One bit for each weight: a 1.7 B model in a quarter of a gigabyte',
    bytes: 248_302_272,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 28 * 1024,
    address: 'hf:prism-ml/Bonsai-1.7B-gguf/Bonsai-1.7B-Q1_0.gguf',
  },
  {
    name: 'Gemma 3 270M',
    about: 'Many languages, follows instructions',
    bytes: 291_545_600,
    licence: 'Gemma terms',
    kvNumbers: 2 * 18 * 256,
    address: 'hf:ggml-org/gemma-3-270m-it-GGUF/gemma-3-270m-it-Q8_0.gguf',
  },
  {
    name: 'SmolLM2 360M Instruct',
    about: 'Chats in English, quick on most laptops',
    bytes: 386_404_992,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 32 * 320,
    address: 'hf:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf',
  },
  {
    name: 'Qwen 2.5 0.5B Instruct',
    about: 'Chats in many languages, writes a little code',
    bytes: 491_400_032,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 24 * 128,
    address: 'hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf',
  },
  {
    name: 'Bonsai 4B, 1 bit',
    about: 'One bit for each weight; the file is as large as that of a usual 1 B model',
    bytes: 572_270_624,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 36 * 1024,
    address: 'hf:prism-ml/Bonsai-4B-gguf/Bonsai-4B-Q1_0.gguf',
  },
  {
    name: 'Qwen 3 0.6B',
    about: 'Thinks before it answers',
    bytes: 639_446_688,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 28 * 1024,
    address: 'hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf',
  },
  {
    name: 'Llama 3.2 1B Instruct',
    about: 'Knows more than the smaller ones; needs a fast machine',
    bytes: 807_694_464,
    licence: 'Llama 3.2 Community',
    kvNumbers: 2 * 16 * 512,
    address: 'hf:bartowski/Llama-3.2-1B-Instruct-GGUF/Llama-3.2-1B-Instruct-Q4_K_M.gguf',
  },
  {
    name: 'Bonsai 8B, 1 bit',
    about: 'The largest that fits a page; needs a fast machine',
    bytes: 1_158_654_496,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 36 * 1024,
    address: 'hf:prism-ml/Bonsai-8B-gguf/Bonsai-8B-Q1_0.gguf',
  },
  {
    name: 'Qwen 3.5 4B, 2 bits',
    about: 'Thinks, calls tools: a 4 B model where no larger file fits; makes more mistakes',
    bytes: 1_520_217_248,
    weightBytes: 1_850_000_000,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 8 * 1024,
    address: 'hf:unsloth/Qwen3.5-4B-GGUF/Qwen3.5-4B-UD-IQ2_XXS.gguf',
  },
  {
    name: 'Qwen 3.5 4B, 3 bits',
    about: 'The same, closer to the original; needs a fast machine',
    bytes: 1_949_047_968,
    weightBytes: 2_370_000_000,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 8 * 1024,
    address: 'hf:unsloth/Qwen3.5-4B-GGUF/Qwen3.5-4B-UD-IQ3_XXS.gguf',
  },
];

/** Models that answer questions about pictures, smallest first. Sizes are the hub's. */
export const pictureModels: readonly PictureModel[] = [
  {
    name: 'SmolVLM 256M Instruct',
    about: 'The smallest that reads pictures; describes in English',
    bytes: 278_824_384,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 30 * 192,
    address: 'hf:ggml-org/SmolVLM-256M-Instruct-GGUF/SmolVLM-256M-Instruct-Q8_0.gguf',
    mmproj: {
      address: 'hf:ggml-org/SmolVLM-256M-Instruct-GGUF/mmproj-SmolVLM-256M-Instruct-Q8_0.gguf',
      bytes: 103_769_856,
    },
  },
  {
    name: 'LFM2-VL 450M',
    about: 'Reads pictures in their own shape, and small ones quickly',
    bytes: 483_105_280,
    licence: 'LFM Open License',
    kvNumbers: 2 * 6 * 512,
    address: 'hf:LiquidAI/LFM2-VL-450M-GGUF/LFM2-VL-450M-Q8_0.gguf',
    mmproj: {
      address: 'hf:LiquidAI/LFM2-VL-450M-GGUF/mmproj-LFM2-VL-450M-Q8_0.gguf',
      bytes: 104_000_000,
    },
  },
  {
    name: 'SmolVLM 500M Instruct',
    about: 'Sees as much as the smaller one, and knows more',
    bytes: 545_590_272,
    licence: 'Apache 2.0',
    kvNumbers: 2 * 32 * 320,
    address: 'hf:ggml-org/SmolVLM-500M-Instruct-GGUF/SmolVLM-500M-Instruct-Q8_0.gguf',
    mmproj: {
      address: 'hf:ggml-org/SmolVLM-500M-Instruct-GGUF/mmproj-SmolVLM-500M-Instruct-Q8_0.gguf',
      bytes: 108_783_360,
    },
  },
];

/** Models that make vectors of texts, for search. Sizes are approximately the hub's. */
export const embeddingModels: readonly HubModel[] = [
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
    about: 'More than a hundred languages; needs a fast machine',
    bytes: 333_590_944,
    licence: 'Gemma terms',
    address: 'hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf',
  },
];

/**
 * The hub's page about the model with this address.
 *
 * @throws KingletError `invalid_argument` if it is not an address of the hub.
 */
export function hubPage(address: string): string {
  const { base, name, revision } = parseHubAddress(address, {}).repository;
  return `${base}/${name}${revision === 'main' ? '' : `/tree/${encodeURIComponent(revision)}`}`;
}
