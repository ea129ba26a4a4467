// Converts requests of the AI SDK to requests of OpenAI's chat API.
import type {
  JSONValue,
  LanguageModelV3CallOptions,
  LanguageModelV3DataContent,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  SharedV3Warning,
} from '@ai-sdk/provider';
import { base64Of } from '../base64.ts';
import { KingletError } from '../errors.ts';
import { camelCase, samplingNames } from '../sampling-rules.ts';
import type { SamplingOption } from '../sampling-rules.ts';
import type { ChatOptions, ToolChoice } from '../types.ts';
import type {
  ChatCompletionParams,
  FunctionCall,
  FunctionTool,
  MessageParam,
  MessagePart,
  ResponseFormat,
} from '../openai/types.ts';

/** Options in `providerOptions: { kinglet: … }`, in addition to the AI SDK's own settings. */
export interface KingletProviderOptions
  extends
    Partial<Record<Exclude<SamplingOption, 'drySequenceBreakers'>, number>>,
    Pick<ChatOptions, 'drySequenceBreakers' | 'maxThinkingTokens' | 'onFull'> {
  /** Further variables of the file's chat template, such as `enable_thinking: false`. */
  variables?: Record<string, JSONValue>;
}

export interface ChatRequest {
  params: ChatCompletionParams;
  /** Warnings about what cannot be done exactly as asked. */
  warnings: SharedV3Warning[];
}

/** @throws KingletError `invalid_argument` if something is not supported at all. */
export function chatRequestOf(options: LanguageModelV3CallOptions): ChatRequest {
  const { responseFormat, toolChoice } = options;
  const warnings: SharedV3Warning[] = [];
  const tools = functionTools(options, warnings);
  const isSchema = responseFormat?.type === 'json';
  if (isSchema && tools.length > 0 && (toolChoice ?? { type: 'auto' }).type === 'auto') {
    warnings.push({
      type: 'other',
      message: 'an answer that must match a schema is JSON and cannot call tools',
    });
  }
  const params: ChatCompletionParams = {
    messages: options.prompt.flatMap(messagesOf),
    max_completion_tokens: options.maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    top_k: options.topK,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    stop: options.stopSequences,
    seed: options.seed,
    response_format: isSchema ? schemaFormat(responseFormat) : undefined,
    tools,
    tool_choice: toolChoice && toolChoiceOf(toolChoice),
    ...ownParams(options.providerOptions?.kinglet ?? {}),
  };
  return { params, warnings };
}

/** Our names of requests' fields. */
const ownFields = Object.fromEntries([
  ...samplingNames.map((name) => [camelCase(name), name]),
  ['drySequenceBreakers', 'dry_sequence_breakers'],
  ['maxThinkingTokens', 'max_thinking_tokens'],
  ['onFull', 'on_full'],
  ['variables', 'chat_template_kwargs'],
]) as Record<string, string>;

function ownParams(options: KingletProviderOptions): Partial<ChatCompletionParams> {
  const fields = Object.entries(options).map(([name, value]) => {
    const field = ownFields[name];
    if (field !== undefined) return [field, value as unknown] as const;
    const known = Object.keys(ownFields).join(', ');
    const message = `unknown provider option "${name}" (known: ${known})`;
    throw new KingletError('invalid_argument', message);
  });
  return Object.fromEntries(fields);
}

function schemaFormat({
  schema,
  name = 'answer',
}: Extract<
  NonNullable<LanguageModelV3CallOptions['responseFormat']>,
  { type: 'json' }
>): ResponseFormat {
  return schema
    ? { type: 'json_schema', json_schema: { name, schema: schema as Record<string, unknown> } }
    : { type: 'json_object' };
}

function functionTools(
  { tools = [] }: LanguageModelV3CallOptions,
  warnings: SharedV3Warning[],
): FunctionTool[] {
  return tools.flatMap((tool) => {
    if (tool.type !== 'function') {
      warnings.push({ type: 'unsupported', feature: `the provider's tool ${tool.id}` });
      return [];
    }
    const { name, description, inputSchema } = tool;
    const parameters = inputSchema as Record<string, unknown>;
    const described = description === undefined ? {} : { description };
    return { type: 'function', function: { name, ...described, parameters } };
  });
}

function toolChoiceOf(choice: NonNullable<LanguageModelV3CallOptions['toolChoice']>): ToolChoice {
  return choice.type === 'tool'
    ? { type: 'function', function: { name: choice.toolName } }
    : choice.type;
}

type Message = LanguageModelV3Prompt[number];

function messagesOf(message: Message): MessageParam[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: message.content.map(partOf) }];
    case 'assistant':
      return [assistantMessage(message)];
    case 'tool':
      return message.content.flatMap(
        (part) =>
          part.type === 'tool-result'
            ? {
                ...{ role: 'tool', tool_call_id: part.toolCallId, name: part.toolName },
                content: outputContent(part.output),
              }
            : [], // approvals of calls: the model does not read them
      );
  }
}

/** A part of a message, or of a tool's output. */
interface Part {
  type: string;
  text?: string;
  data?: LanguageModelV3DataContent;
  mediaType?: string;
}

function partOf({ type, text, data, mediaType = '' }: Part): MessagePart {
  if (type === 'text' && text !== undefined) return { type, text };
  // Version 7 of the SDK says only `image` of a URL.
  if (data !== undefined && /^image(\/|$)/i.test(mediaType)) {
    return { type: 'image_url', image_url: { url: urlOf(data, mediaType) } };
  }
  const kind = mediaType === '' ? `"${type}"` : `"${type}" (${mediaType})`;
  throw new KingletError(
    'invalid_argument',
    `a part of type ${kind} is not supported: models read text and pictures only`,
  );
}

/** A string is Base64, unless it has a colon: then it is a URL. */
function urlOf(data: LanguageModelV3DataContent, mediaType: string): string {
  if (data instanceof URL) return data.href;
  if (typeof data === 'string' && data.includes(':')) return data;
  const base64 = typeof data === 'string' ? data : base64Of(data);
  return `data:${mediaType};base64,${base64}`;
}

function assistantMessage({ content }: Extract<Message, { role: 'assistant' }>): MessageParam {
  let thoughts = '';
  const parts: MessagePart[] = [];
  const calls: FunctionCall[] = [];
  for (const part of content) {
    if (part.type === 'reasoning') thoughts += part.text;
    else if (part.type === 'tool-call') {
      const { toolCallId: id, toolName: name, input } = part;
      calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } });
    } else parts.push(partOf(part));
  }
  return {
    ...{ role: 'assistant', content: parts },
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function outputContent(output: LanguageModelV3ToolResultOutput): string | MessagePart[] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? 'The call was denied.';
    case 'content':
      return output.value.map(partOf);
  }
}
