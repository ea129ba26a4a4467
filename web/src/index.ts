export { ModelCache } from './cache/model-cache.ts';
export type { CachedFile } from './cache/model-cache.ts';
export { Chat } from './chat.ts';
export type { ChatSetup, ChatState } from './chat.ts';
export { estimate } from './estimate.ts';
export { errorCodes, KingletError } from './errors.ts';
export type { KingletErrorCode } from './errors.ts';
export type { Generation } from './generation.ts';
export { inspect } from './inspect.ts';
export { Kinglet } from './kinglet.ts';
export { Session } from './session.ts';
export { similarity } from './similarity.ts';
export { toolResult } from './tool-call.ts';
export type {
  ChatMessage,
  ChatToolCall,
  ChatOptions,
  ChatPromptOptions,
  ChatResult,
  ChatTokensOptions,
  ChatTool,
  ToolChoice,
  ClassifyOptions,
  ContentPart,
  DecodeOptions,
  DetokenizeOptions,
  EmbeddingTables,
  EmbedOptions,
  EncodeOptions,
  EncodeProgress,
  FileDescription,
  FinishReason,
  GenerateOptions,
  GenerationResult,
  HereReason,
  HubOptions,
  ImagePixels,
  ImageProgress,
  ImageReaderInfo,
  ImageSource,
  InspectOptions,
  JsonSchema,
  KvChoice,
  KvKind,
  KvOption,
  KvPages,
  LabelledText,
  LabelProbability,
  LoadOptions,
  LoadPhase,
  LoadProgress,
  MetadataEntry,
  MetadataScalar,
  ModelEstimate,
  ModelInfo,
  ModelPlan,
  OnFull,
  ModelSource,
  Piece,
  PrepareOptions,
  Pooling,
  RankedDocument,
  RecommendedSampling,
  RerankOptions,
  SessionInfo,
  SessionOptions,
  SingleThreadReason,
  TensorDescription,
  TokenizeOptions,
  TokenLogprob,
  ToolCall,
  ToolCallPiece,
} from './types.ts';
