// Converts requests of OpenAI's Responses API to requests of its chat API.
import { KingletError } from '../errors.ts';
import { checked, responseToolShape } from './request.ts';
import type {
  ResponseFunctionTool,
  ResponseInputItem,
  ResponseParams,
  ResponseTextFormat,
} from './responses-types.ts';
import type {
  ChatCompletionParams,
  FunctionCall,
  FunctionTool,
  MessageParam,
  MessagePart,
  ResponseFormat,
  ToolChoice,
} from './types.ts';

/** @throws KingletError `invalid_argument` if a parameter is not supported. */
export function chatParams(params: ResponseParams): ChatCompletionParams {
  const {
    input,
    instructions,
    max_output_tokens,
    include,
    text,
    tools,
    tool_choice,
    reasoning,
    background,
    truncation,
    parallel_tool_calls,
    top_logprobs,
    ...rest
  } = params;
  if (background === true) throw invalid('background is not supported: answers are not kept');
  if (truncation === 'auto') throw invalid('the truncation "auto" is not supported');
  refuseForeign(rest);
  const withLogprobs = include?.includes('message.output_text.logprobs') ?? false;
  return {
    ...rest,
    messages: [
      ...(typeof instructions === 'string'
        ? [{ role: 'system', content: instructions } as const]
        : []),
      ...inputMessages(input),
    ],
    ...(max_output_tokens !== undefined && { max_completion_tokens: max_output_tokens }),
    ...(withLogprobs && { logprobs: true, top_logprobs }),
    ...(text?.format && { response_format: responseFormat(text.format) }),
    ...(tools && { tools: tools.map(functionTool) }),
    ...(tool_choice !== undefined && { tool_choice: toolChoice(tool_choice) }),
    ...(typeof parallel_tool_calls === 'boolean' && { parallel_tool_calls }),
    ...(reasoning && { reasoning_effort: reasoning.effort }),
  };
}

/** Refuses parameters that only the chat API has, or only a service that stores answers. */
function refuseForeign(params: object): void {
  const { n, previous_response_id: previous } = params as Record<string, unknown>;
  if (n !== undefined) throw invalid('the parameter "n" is not supported');
  if (typeof previous === 'string') {
    throw invalid(
      'previous_response_id is not supported, as answers are not kept: give what was said ' +
        'before, the output of the earlier answer too, as items of the input',
    );
  }
}

function inputMessages(input: ResponseParams['input']): MessageParam[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const given: unknown = input;
  if (!Array.isArray(given) || !given.every((item) => typeof item === 'object' && item !== null)) {
    throw invalid('input must be a text or a list of items');
  }
  const messages: OpenMessage[] = [];
  for (const item of given as ResponseInputItem[]) addItem(messages, item);
  return messages;
}

type OpenMessage = MessageParam & { tool_calls?: FunctionCall[] };

/** Joins the items of one answer (thoughts, text, calls) into one message of the assistant. */
function addItem(messages: OpenMessage[], item: ResponseInputItem): void {
  switch (item.type ?? 'message') {
    case 'message':
      addMessage(messages, item);
      break;
    case 'reasoning':
      addAnswer(messages, { reasoning_content: plainText(item.content ?? item.summary) });
      break;
    case 'function_call': {
      const { call_id: id, name, arguments: given } = item;
      addAnswer(
        messages,
        {},
        {
          ...{ id: id ?? '', type: 'function' },
          function: { name: name ?? '', arguments: typeof given === 'string' ? given : '' },
        },
      );
      break;
    }
    case 'function_call_output':
      messages.push({
        ...{ role: 'tool', tool_call_id: item.call_id ?? '' },
        content: contentOf(item.output),
      });
      break;
    default:
      throw invalid(`an input item of type "${String(item.type)}" is not supported`);
  }
}

function addMessage(messages: OpenMessage[], { role, content }: ResponseInputItem): void {
  if (role === 'assistant') {
    addAnswer(messages, { content: contentOf(content) });
    return;
  }
  if (role === 'user' || role === 'system' || role === 'developer') {
    messages.push({ role, content: contentOf(content) });
    return;
  }
  throw invalid(`an input message of the role "${String(role)}" is not supported`);
}

function addAnswer(messages: OpenMessage[], part: Partial<MessageParam>, call?: FunctionCall) {
  const last = messages.at(-1);
  // A thought, or text after text or calls, begins another answer.
  const isOpen =
    last?.role === 'assistant' &&
    !(part.content !== undefined && (last.content !== undefined || last.tool_calls)) &&
    !('reasoning_content' in part);
  const message: OpenMessage = isOpen ? last : { role: 'assistant' };
  if (!isOpen) messages.push(message);
  Object.assign(message, part);
  if (call) message.tool_calls = [...(message.tool_calls ?? []), call];
}

/** Returns text, or parts. */
function contentOf(content: unknown): string | MessagePart[] {
  return Array.isArray(content) ? content.map(partOf) : plainText(content);
}

/** The size in which a model reads a picture does not depend on the part's `detail`. */
function partOf(part: ItemPart | null): MessagePart {
  return part?.type === 'input_image'
    ? { type: 'image_url', image_url: { url: part.image_url as string } }
    : { type: 'text', text: textOfPart(part) };
}

function plainText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (Array.isArray(content)) return content.map(textOfPart).join('');
  throw invalid('the content of an item must be a text or a list of parts');
}

const textParts = [
  ...['input_text', 'output_text', 'reasoning_text', 'summary_text', 'text', 'refusal'],
];

type ItemPart = Partial<Record<'type' | 'text' | 'refusal' | 'image_url', unknown>>;

function textOfPart(part: ItemPart | null): string {
  const type = String(part?.type);
  const text = type === 'refusal' ? part?.refusal : part?.text;
  if (textParts.includes(type) && typeof text === 'string') return text;
  throw invalid(
    `a part of type "${type}" is not supported: models read text and pictures (input_image) only`,
  );
}

function responseFormat(format: ResponseTextFormat): ResponseFormat {
  if (format.type !== 'json_schema') return format;
  const { type, name, schema } = format;
  return { type, json_schema: { name, schema } };
}

/** @throws KingletError `invalid_argument` for tools of services: only functions are supported. */
function functionTool(tool: ResponseFunctionTool | { type: string }): FunctionTool {
  if (!isFunction(tool)) {
    throw invalid(`a tool of type "${tool.type}" is not supported, only "function" is`);
  }
  const { name, description, parameters, strict } = checked(tool, responseToolShape, 'tools');
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      ...(parameters && { parameters }),
      strict,
    },
  };
}

export function isFunction(
  tool: ResponseFunctionTool | { type: string },
): tool is ResponseFunctionTool {
  return tool.type === 'function';
}

function toolChoice(choice: NonNullable<ResponseParams['tool_choice']>): ToolChoice {
  if (typeof choice === 'string') return choice;
  if (choice.type === 'function' && 'name' in choice) {
    return { type: 'function', function: { name: choice.name } };
  }
  if (choice.type === 'allowed_tools' && 'tools' in choice) {
    const { mode, tools } = choice;
    const named = tools.map(({ name }) => ({ type: 'function', function: { name } }));
    return { type: 'allowed_tools', allowed_tools: { mode, tools: named } };
  }
  throw invalid(`a tool_choice of type "${choice.type}" is not supported`);
}

function invalid(message: string): KingletError {
  return new KingletError('invalid_argument', message);
}
