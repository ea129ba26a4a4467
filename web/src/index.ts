export { errorCodes, KingletError } from './errors.ts';
export type { KingletErrorCode } from './errors.ts';
export type { Generation } from './generation.ts';
export { Kinglet } from './kinglet.ts';
export type {
  ChatMessage,
  ChatOptions,
  ChatPromptOptions,
  DetokenizeOptions,
  FinishReason,
  GenerateOptions,
  GenerationResult,
  HubOptions,
  LoadOptions,
  LoadPhase,
  LoadProgress,
  ModelInfo,
  ModelSource,
  Piece,
  SingleThreadReason,
  TokenizeOptions,
} from './types.ts';
