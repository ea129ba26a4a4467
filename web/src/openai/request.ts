// Reads requests, which may come from JavaScript or JSON and have any form.
import { KingletError } from '../errors.ts';

/** The members that an object may have; 'any': they are not checked here. Lists: of each item. */
export type Shape = 'any' | { readonly [name: string]: Shape };

/**
 * Returns a copy without members that are null or undefined: to OpenAI's API absent and null are the
 * same. Does not look into values of the shape 'any'.
 *
 * @throws KingletError `invalid_argument` if an object has a member that its shape has not.
 */
export function checked<T>(value: T, shape: Shape, place = ''): T {
  if (shape === 'any' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    return value.map((item: unknown, i) => checked(item, shape, `${place}[${String(i)}]`)) as T;
  }
  const kept: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === null || member === undefined) continue;
    const path = place === '' ? name : `${place}.${name}`;
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    // refuseUnknown() refuses those of the request itself.
    if (inner === undefined && place !== '') {
      throw new KingletError('invalid_argument', `the parameter "${path}" is not supported`);
    }
    kept.push([name, checked(member, inner ?? 'any', path)]);
  }
  return Object.fromEntries(kept) as T;
}

/**
 * Converts a request.
 *
 * @throws KingletError `invalid_argument` if the request is not of the form that its type says.
 */
export function reading<T>(convert: () => T): T {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `the request has a value of a type that is not expected: ${error.message}`;
    throw new KingletError('invalid_argument', message);
  }
}

type Members = Record<string, Shape>;

const choice: Members = { type: 'any', function: { name: 'any' } };
const part: Members = {
  ...{ type: 'any', text: 'any', refusal: 'any' },
  image_url: { url: 'any', detail: 'any' },
};
const call: Members = {
  ...{ id: 'any', type: 'any', index: 'any', custom: 'any' },
  function: { name: 'any', arguments: 'any', parsed_arguments: 'any' },
};
const streamOptions: Members = { include_usage: 'any', include_obfuscation: 'any' };

export const textShape: Shape = { stream_options: streamOptions };

export const chatShape: Shape = {
  stream_options: streamOptions,
  messages: {
    ...{ role: 'any', content: part, refusal: 'any', name: 'any', reasoning_content: 'any' },
    ...{ tool_calls: call, tool_call_id: 'any', annotations: 'any', parsed: 'any' },
  },
  response_format: {
    ...{ type: 'any', schema: 'any' },
    json_schema: { name: 'any', description: 'any', schema: 'any', strict: 'any' },
  },
  tools: {
    ...{ type: 'any', custom: 'any' },
    function: { name: 'any', description: 'any', parameters: 'any', strict: 'any' },
  },
  tool_choice: {
    ...{ ...choice, custom: 'any' },
    allowed_tools: { mode: 'any', tools: choice },
  },
};

const responsePart: Members = {
  ...{ ...part, image_url: 'any', detail: 'any', annotations: 'any', logprobs: 'any' },
};

/** Tools have the shape of a function only if they are functions. */
export const responseShape: Shape = {
  stream_options: streamOptions,
  input: {
    ...{ id: 'any', type: 'any', status: 'any', role: 'any', content: responsePart },
    ...{ summary: responsePart, encrypted_content: 'any', phase: 'any' },
    ...{ call_id: 'any', name: 'any', arguments: 'any', output: responsePart },
  },
  reasoning: { effort: 'any', summary: 'any', generate_summary: 'any' },
  text: {
    format: { type: 'any', name: 'any', description: 'any', schema: 'any', strict: 'any' },
    verbosity: 'any',
  },
};

export const responseToolShape: Shape = {
  ...{ type: 'any', name: 'any', description: 'any', parameters: 'any', strict: 'any' },
};
