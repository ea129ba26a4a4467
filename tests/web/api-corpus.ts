// Requests of OpenAI's API, and what is expected of their answers: of the server's, and of those of
// the package's fetch. Each request that generates text is greedy, or has a seed.
import { expect } from 'vitest';
import { png, turnedJpeg } from '../cli/picture-files.ts';

/**
 * `chat`: its template knows tools and thoughts; `plain`: its template knows neither; `thinker`: its
 * template begins a thought; `mistral`: its template has another syntax for calls; `pictures`: reads
 * pictures.
 */
export const modelNames = [
  ...['chat', 'plain', 'thinker', 'mistral', 'pictures', 'embedder', 'reranker'],
] as const;
export type ModelName = (typeof modelNames)[number];

export interface Expected {
  status: number;
  /** Of an error. */
  message?: RegExp;
  param?: string | null;
  code?: string | null;
  /** `finish_reason` of each choice, or the status of a response. */
  finish?: string[];
  /** Names of the calls of all choices. */
  calls?: string[];
  /** Matches the text of each choice. */
  text?: RegExp;
  /** Matches the thought of each choice. */
  thought?: RegExp;
  /** What the body holds; of a stream, what its last event with data holds. */
  like?: object;
}

export interface Case {
  name: string;
  model: ModelName;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** A text is sent as it is. */
  body?: object | string;
  expected: Expected;
  /** The request has pictures that must be decoded. */
  showsPictures?: boolean;
  /** The package's answer is another one, although it should not be. */
  isUnlike?: boolean;
}

/** A case's name, what its request holds besides the usual, and what is expected. */
type Line = [name: string, body: object, expected: Expected];

type Usual = (model: ModelName, path: string, usual: object) => (...lines: Line[]) => Case[];

const usually: Usual =
  (model, path, usual) =>
  (...lines) =>
    lines.map(([name, body, expected]) => ({
      ...{ name: `${path} ${model}: ${name}`, method: 'POST', path: `/v1${path}` },
      ...{ model, body: { ...usual, ...body }, expected },
    }));

/** A request that is refused. */
const wrong = (message: RegExp, param: string | null, code = 'invalid_argument'): Expected => ({
  ...{ status: 400, message, param, code },
});
/** A request that the engine refuses: such errors name no parameter. */
const refused = (message: RegExp, code = 'invalid_argument') => wrong(message, null, code);
const unknown = (param: string) => wrong(/^the parameter ".*" is not supported$/, param);

const ok = (more: Omit<Expected, 'status'> = {}): Expected => ({ status: 200, ...more });
const cut = ok({ finish: ['length'] });
const stopped = ok({ finish: ['stop'] });
const called = (...calls: string[]) => ok({ finish: ['tool_calls'], calls });

const withPictures = (some: Case[]) => some.map((one) => ({ ...one, showsPictures: true }));
const unlike = (some: Case[]) => some.map((one) => ({ ...one, isUnlike: true }));

/** The same requests, answered at once and in streams. */
const alsoStreamed = (cases: Case[]): Case[] =>
  cases.flatMap((one) => [
    one,
    {
      ...one,
      ...{ name: `${one.name}, in a stream`, body: { ...(one.body as object), stream: true } },
      expected: { ...one.expected, like: {} },
    },
  ]);

const opening = 'Once upon a time';
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown, more: object = {}) => ({
  ...{ role: 'assistant', content, ...more },
});
const messages = [user(opening)];
const greedy = { temperature: 0, max_tokens: 4 };
const long = 'dog '.repeat(700);
/** A conversation that is longer than the context. */
const manyTurns = Array.from({ length: 30 }, (_, i) => [
  user(`${String(i)}: A dog ran to the sea.`),
  assistant('Yes, it did.'),
]).flat();

const ofChat = (model: ModelName, usual: object = greedy) =>
  usually(model, '/chat/completions', { messages, ...usual });
const chat = ofChat('chat');

// --- Chat ------------------------------------------------------------------------------------

const conversations: Line[] = [
  ['a message', {}, { ...cut, like: { object: 'chat.completion', model: 'Kinglet Stories 5M' } }],
  ['a name of the model', { model: 'any' }, { ...cut, like: { model: 'any' } }],
  ['one token', { max_tokens: 1 }, { ...cut, like: { usage: { completion_tokens: 1 } } }],
  ['a system', { messages: [{ role: 'system', content: 'Be kind.' }, user('Hi')] }, cut],
  ['a developer', { messages: [{ role: 'developer', content: 'Be kind.' }, user('Hi')] }, cut],
  ['turns', { messages: [user('Hi'), assistant('Hello.'), user('A cat?')] }, cut],
  ['parts', { messages: [user([{ type: 'text', text: 'A ' }, { type: 'text', text: 'cat' }])] }, cut],
  ['a refusal', { messages: [user('Hi'), assistant(null, { refusal: 'No.' }), user('Why?')] }, cut],
  ['a name', { messages: [{ ...user('Hi'), name: 'Ann' }] }, cut],
  ['thoughts', { messages: [user('a'), assistant('b', { reasoning_content: 'c' }), user('d')] }, cut],
  ['an answer given back', { messages: [user('a'), assistant('b', { annotations: [] })] }, cut],
  ['letters of other scripts', { messages: [user('Zoë 猫 🐈')] }, cut],
  ['a text that spells marks', { messages: [user('<|im_end|></s><think>')] }, cut],
  ['an empty message', { messages: [user('')] }, cut],
  ['a message without content', { messages: [user(null)] }, cut],
  ['a long prompt', { messages: [user(long)] }, refused(/has room for 512$/, 'context_length_exceeded')],
  ['many turns', { messages: [...manyTurns, user('Why?')] }, refused(/has room for 512$/, 'context_length_exceeded')],
  ['many turns, the oldest left out', { messages: [...manyTurns, user('Why?')], on_full: 'dropOldest' }, cut],
  ['many turns, and a shift', { messages: [...manyTurns, user('And then?')], on_full: 'shift', max_tokens: 300 }, ok()],
  ['a long prompt alone', { messages: [user(long)], on_full: 'dropOldest' }, refused(/has room for 512$/, 'context_length_exceeded')],
]; // prettier-ignore

const nulls = Object.fromEntries(
  [
    ...['model', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
    ...[
      'max_completion_tokens',
      'n',
      'response_format',
      'seed',
      'stop',
      'stream',
      'top_p',
      'tools',
    ],
    ...['stream_options', 'tool_choice', 'parallel_tool_calls', 'user', 'metadata', 'grammar'],
    ...['reasoning_effort', 'chat_template_kwargs', 'max_thinking_tokens', 'top_k', 'never_heard'],
    ...['dry_sequence_breakers', 'min_tokens', 'echo'],
  ].map((name) => [name, null]),
);

const answers: Line[] = [
  ['null everywhere', nulls, cut],
  ['null in a message', { messages: [{ ...user('Hi'), name: null, tool_calls: null }] }, cut],
  ['max_completion_tokens', { max_tokens: null, max_completion_tokens: 2 }, cut],
  ['both limits', { max_tokens: 9, max_completion_tokens: 2 },
    { ...cut, like: { usage: { completion_tokens: 2 } } }],
  ['a stop text', { stop: 'a', max_tokens: 40 }, { ...stopped, text: /^[^a]*$/ }],
  ['stop texts', { stop: ['zzz', ' the', ','], max_tokens: 40 }, { ...stopped, text: /^[^,]*$/ }],
  ['a seed', { temperature: 1, seed: 5 }, cut],
  ['a negative seed', { temperature: 1, seed: -5 }, cut],
  ['the largest seed', { temperature: 1, seed: 2 ** 53 - 1 }, cut],
  ['biases', { logit_bias: { 5: -100, 6: 3.5, 7: null } }, cut],
  ['no biases', { logit_bias: {} }, cut],
  ['a forced token', { logit_bias: { 393: 100 }, max_tokens: 2 }, cut],
  ['choices', { n: 3, temperature: 1, seed: 3 }, ok({ finish: ['length', 'length', 'length'] })],
  ['logprobs', { logprobs: true }, cut],
  ['logprobs of others', { logprobs: true, top_logprobs: 3 }, cut],
  ['top_logprobs alone', { top_logprobs: 3 }, wrong(/^top_logprobs is 3, but logprobs is not true$/, 'top_logprobs')],
  ['none of the top_logprobs', { top_logprobs: 0 }, cut],
  ['no logprobs', { logprobs: false }, { ...cut, like: { choices: [{ logprobs: null }] } }],
  ['text as format', { response_format: { type: 'text' } }, cut],
  ['a grammar', { grammar: 'root ::= " yes" | " no"', max_tokens: 20 },
    { ...stopped, text: /^ (yes|no)$/ }],
  ['a grammar of characters', { grammar: 'root ::= [a-c]{5}', max_tokens: 20 },
    { ...stopped, text: /^[a-c]{5}$/ }],
  ['an effort', { reasoning_effort: 'low' }, cut],
  ['no effort', { reasoning_effort: 'none' }, cut],
  ['variables', { chat_template_kwargs: { enable_thinking: false, own: [1] } }, cut],
  ['a limit of thoughts', { max_thinking_tokens: 0 }, cut],
]; // prettier-ignore

// --- Schemas ---------------------------------------------------------------------------------

const object = (properties: object) => ({
  ...{ type: 'object', properties, required: Object.keys(properties) },
  additionalProperties: false,
});
const schemas: Record<string, object | boolean> = {
  choice: { enum: ['cat', 'dog', 3, null] },
  members: object({ kind: { enum: ['cat', 'dog'] }, isTame: { type: 'boolean' } }),
  list: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2, maxItems: 3 },
  number: object({ age: { type: 'integer', minimum: 3, maximum: 12 } }),
  inner: {
    $defs: { place: { enum: ['sea', 'wood'] } },
    ...object({ at: { $ref: '#/$defs/place' }, or: { anyOf: [{ type: 'null' }, { const: 1 }] } }),
  },
  date: object({ day: { type: 'string', format: 'date' } }),
};
const formatOf = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'own', strict: true, schema } },
});
const made = { ...greedy, max_tokens: 90 };

const formats: Line[] = [
  ...Object.entries(schemas).map(([name, schema]): Line => [
    ...([`a schema: ${name}`, { ...made, ...formatOf(schema) }, stopped] as const),
  ]),
  ['an object', { response_format: { type: 'json_object' }, temperature: 1, seed: 4 }, cut],
  ['an object of a schema', { ...made, response_format: { type: 'json_object', schema: schemas.members } }, stopped],
  ['a schema that is cut', { ...formatOf(schemas.members), max_tokens: 2 }, cut],
  ['no format', { response_format: { type: 'own' } }, wrong(/"own" is not supported/, 'response_format')],
  ['no schema', { response_format: { type: 'json_schema' } }, wrong(/needs "json_schema": \{"schema": …\}$/, 'response_format')],
  ['a schema that is none', formatOf(3), wrong(/schema/, 'response_format')],
  ['a keyword that is not supported', formatOf({ unevaluatedItems: {} }), wrong(/at #: "unevaluatedItems" is not supported/, 'response_format')],
  ['a schema that allows nothing', formatOf(false), wrong(/schema/, 'response_format')],
  ['another member', { response_format: { type: 'text', own: 1 } }, unknown('response_format.own')],
  ['a damaged grammar', { grammar: 'root ::= (' }, wrong(/grammar/, 'grammar')],
  ['a grammar and a schema', { grammar: 'root ::= "a"', ...formatOf(schemas.choice) }, wrong(/grammar/, 'grammar')],
]; // prettier-ignore

// --- Tools -----------------------------------------------------------------------------------

const tool = (name: string, parameters?: object) => ({
  ...{ type: 'function', function: { name, ...(parameters && { parameters }) } },
});
const look = tool('look', object({ at: { enum: ['sea', 'sky'] } }));
const wait = tool('wait', object({}));
const tools = [look];
const named = (name: string) => ({ type: 'function', function: { name } });
const call = (name: string, text: string) => ({
  ...{ id: 'abcdefghi', type: 'function', function: { name, arguments: text } },
});
const result = (content: unknown) => ({ role: 'tool', tool_call_id: 'abcdefghi', content });
const short = [user('Go')];
const calling = { messages: short, ...made, tools };
const allowed = (mode: string, names: string[]) => ({
  ...{ type: 'allowed_tools', allowed_tools: { mode, tools: names.map(named) } },
});

const calls: Line[] = [
  ['tools', { max_tokens: 4 }, cut],
  ['tools as it likes', { tool_choice: 'auto', max_tokens: 4 }, cut],
  ['no tools', { tool_choice: 'none', max_tokens: 4 }, cut],
  ['a call', { tool_choice: 'required', parallel_tool_calls: false }, called('look')],
  ['a call by name', { tool_choice: named('look') }, called('look')],
  ['a call of what is allowed', { tool_choice: allowed('required', ['look']), parallel_tool_calls: false }, called('look')],
  ['what is allowed, as it likes', { tool_choice: allowed('auto', ['look']), max_tokens: 4 }, cut],
  ['a call that is cut', { tool_choice: 'required', max_tokens: 3 }, cut],
  ['a call without parameters', { tools: [wait], tool_choice: named('wait') }, called('wait')],
  ['an earlier call', { tools: [], max_tokens: 4,
    messages: [user('a'), assistant(null, { tool_calls: [call('look', '{"at":"sea"}')] }), result('Wet')] }, cut],
  ['an earlier call with parts', { tools: null, max_tokens: 4,
    messages: [user('a'), assistant('b', { tool_calls: [call('look', '')] }), result([{ type: 'text', text: 'c' }])] }, cut],
]; // prettier-ignore

const wrongTools: Line[] = [
  ['a call that is no JSON', { messages: [user('a'), assistant('', { tool_calls: [call('look', '{')] })] },
    wrong(/are not JSON/, 'messages')],
  ['a call without a name', { messages: [user('a'), assistant('', { tool_calls: [{ id: 'a' }] })] },
    wrong(/expected/, 'messages[1].tool_calls[0]')],
  ['tools that are none', { tools: {} }, wrong(/an array of tools/, 'tools')],
  ['a tool that is a number', { tools: [3] }, wrong(/^tools\[0\] is 3/, 'tools[0]')],
  ['a tool of another type', { tools: [{ type: 'own' }] }, wrong(/^tools\[0\] is/, 'tools[0]')],
  ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, wrong(/expected/, 'tools[0]')],
  ['a tool with more', { tools: [{ ...look, own: 1 }] }, unknown('tools[0].own')],
  ['a function with more', { tools: [{ type: 'function', function: { name: 'a', own: 1 } }] },
    unknown('tools[0].function.own')],
  ['parameters that are a text', { tools: [{ type: 'function', function: { name: 'a', parameters: 'b' } }] },
    wrong(/an object/, 'tools[0].function.parameters')],
  ['parameters that are not supported', { tools: [tool('a', { unevaluatedItems: {} })], tool_choice: 'required' },
    wrong(/"unevaluatedItems" is not supported/, 'tools')],
  ['a choice of another tool', { tools, tool_choice: named('run') }, wrong(/"run", which is not/, 'tool_choice')],
  ['a choice without tools', { tool_choice: 'required' }, wrong(/there are no tools/, 'tool_choice')],
  ['a choice without allowed tools', { tools, tool_choice: allowed('required', []) }, wrong(/there are no tools/, 'tool_choice')],
  ['a choice in another mode', { tools, tool_choice: allowed('own', ['look']) },
    wrong(/expected/, 'tool_choice.allowed_tools')],
  ['a choice of another word', { tools, tool_choice: 'some' }, wrong(/^tool_choice is "some"/, 'tool_choice')],
  ['a choice of a number', { tools, tool_choice: 3 }, wrong(/^tool_choice is 3/, 'tool_choice')],
]; // prettier-ignore

// --- Wrong chats -----------------------------------------------------------------------------

const image = (url: string) => ({ type: 'image_url', image_url: { url } });
const wrongMessages: Line[] = [
  ['no messages', { messages: null }, wrong(/^messages are missing$/, 'messages')],
  ['an empty list', { messages: [] }, wrong(/at least one object/, 'messages')],
  ['a text', { messages: 'Hi' }, wrong(/at least one object/, 'messages')],
  ['an array of strings', { messages: ['Hi'] }, wrong(/^messages\[0\] is "Hi"/, 'messages[0]')],
  ['no role', { messages: [{ content: 'Hi' }] }, wrong(/has no role/, 'messages[0].role')],
  ['a role that is a number', { messages: [{ role: 3 }] }, wrong(/a string$/, 'messages[0].role')],
  ['a content that is a number', { messages: [user(3)] }, wrong(/or an array of parts/, 'messages[0].content')],
  ['a part without a type', { messages: [user([{ text: 'a' }])] }, wrong(/part of type null/, 'messages[0].content[0]')],
  ['a part without a text', { messages: [user([{ type: 'text' }])] }, wrong(/a string$/, 'messages[0].content[0].text')],
  ['sounds', { messages: [user([{ type: 'input_audio', input_audio: {} }])] },
    wrong(/"input_audio" is not supported/, 'messages[0].content[0]')],
  ['a message with more', { messages: [{ ...user('a'), own: 1 }] }, unknown('messages[0].own')],
  ['a part with more', { messages: [user([{ type: 'text', text: 'a', own: 1 }])] }, unknown('messages[0].content[0].own')],
  ['thoughts that are a number', { messages: [assistant('a', { reasoning_content: 3 })] },
    wrong(/a string$/, 'messages[0].reasoning_content')],
]; // prettier-ignore

/** Values of the wrong type, and words of the error. */
const wrongTypes: Record<string, [unknown, RegExp][]> = {
  model: [[3, /^model is 3, expected a string$/]],
  logit_bias: [
    [[], /an object$/],
    [{ cat: 1 }, /the key "cat"/],
  ],
  seed: [
    ['5', /a whole number/],
    [1.5, /a whole number/],
  ],
  stop: [
    [3, /an array of strings$/],
    [[3], /^stop\[0\] is 3, expected a string$/],
  ],
  n: [
    [0, /from 1 to 128$/],
    [129, /from 1 to 128$/],
    ['a', /from 1 to 128$/],
  ],
  stream: [['yes', /true or false$/]],
  stream_options: [[true, /an object$/]],
  max_tokens: [
    [0, /a whole number from 1/],
    [1.5, /a whole number from 1/],
    ['9', /a whole number from 1/],
  ],
  grammar: [[3, /a string$/]],
  dry_sequence_breakers: [[{}, /an array of strings$/]],
};
const wrongChatTypes: typeof wrongTypes = {
  max_completion_tokens: [[-1, /a whole number from 1/]],
  logprobs: [[3, /true or false$/]],
  top_logprobs: [
    [-1, /from 0 to 100$/],
    [101, /from 0 to 100$/],
  ],
  parallel_tool_calls: [['no', /true or false$/]],
  response_format: [['json', /an object$/]],
  reasoning_effort: [[3, /a string$/]],
  chat_template_kwargs: [[[], /an object$/]],
  max_thinking_tokens: [[-1, /a whole number from 0/]],
  on_full: [
    ['never', /one of "error", "dropOldest" or "shift"$/],
    [3, /a string$/],
  ],
};
const typeLines = (types: typeof wrongTypes): Line[] =>
  Object.entries(types).flatMap(([name, values]) =>
    values.map(([value, message]): Line => [
      ...([
        `${name} is ${JSON.stringify(value)}`,
        { [name]: value },
        wrong(message, name),
      ] as const),
    ]),
  );

/** Fields that are accepted only with values that change nothing. */
const needless: Record<string, [unknown, unknown]> = {
  modalities: [['text'], ['audio']],
  truncation: ['auto', 'own'],
  min_tokens: [0, 1],
  use_beam_search: [false, true],
  ignore_eos: [false, true],
  skip_special_tokens: [true, false],
  return_tokens: [false, true],
};
const needlessOf = (fields: typeof needless): Line[] => [
  ['fields that change nothing', Object.fromEntries(Object.entries(fields).map(([name, [same]]) => [name, same])), cut],
  ...Object.entries(fields).map(([name, [, other]]): Line => [`another ${name}`, { [name]: other }, unknown(name)]),
]; // prettier-ignore

const ignored = {
  ...{ metadata: { a: 'b' }, store: true, user: 'c', safety_identifier: 'd', verbosity: 'low' },
  ...{ service_tier: 'auto', prompt_cache_key: 'e', prediction: { type: 'content', content: '' } },
  ...{ cache_prompt: true, id_slot: 3, timings_per_token: true, return_progress: true },
};

// --- Sampling --------------------------------------------------------------------------------

/** Values of an option: those that are accepted, those beyond its range, and what the range is. */
type Range = [good: number[], bad: number[], words: RegExp];
const options: Record<string, Range> = {
  temperature: [[0, 0.5, 100], [-0.1, 100.5], /expected 0 to 100$/],
  top_p: [[0, 0.3, 1], [-0.1, 1.1], /expected 0 to 1$/],
  min_p: [[0, 0.3, 1], [-0.1, 1.1], /expected 0 to 1$/],
  typical_p: [[0, 0.3, 1], [-0.1, 1.1], /expected 0 to 1$/],
  xtc_probability: [[0, 0.5, 1], [-0.1, 1.1], /expected 0 to 1$/],
  xtc_threshold: [[0, 0.05, 1], [-0.1, 1.1], /expected 0 to 1$/],
  repeat_penalty: [[0.5, 1.3, 100], [0, 100.5], /expected more than 0, up to 100$/],
  frequency_penalty: [[-100, 1.5, 100], [-100.5, 100.5], /expected -100 to 100$/],
  presence_penalty: [[-100, 1.5, 100], [-100.5, 100.5], /expected -100 to 100$/],
  dry_multiplier: [[0, 0.8, 100], [-0.1, 100.5], /expected 0 to 100$/],
  dry_base: [[1, 2, 100], [0.9, 100.5], /expected 1 to 100$/],
};
const wholeOptions: Record<string, Range> = {
  top_k: [[-1, 0, 2, 2 ** 31 - 1], [-2, 2.5, 2 ** 31], /a whole number from -1 to 2147483647$/],
  repeat_last_n: [[0, 3, 65536], [-1, 65537], /a whole number from 0 to 65536$/],
  dry_allowed_length: [[0, 3, 65536], [-1, 65537], /a whole number from 0 to 65536$/],
  dry_penalty_last_n: [[-1, 0, 50], [-2, 2 ** 31], /a whole number from -1 to 2147483647$/],
};
/** With these, each option has an effect. */
const drawn = {
  ...{ temperature: 1, seed: 11, max_tokens: 12, repeat_penalty: 1.1, presence_penalty: 0.1 },
  ...{ xtc_probability: 0.5, dry_multiplier: 0.5, prompt: 'The cat saw the cat and the cat' },
};
const samplings: Line[] = [
  ...Object.entries({ ...options, ...wholeOptions }).flatMap(([name, [good]]) =>
    good.map((value): Line => [`${name} is ${String(value)}`, { ...drawn, [name]: value }, ok()]),
  ),
  ...Object.entries({ ...options, ...wholeOptions }).flatMap(([name, [, bad, words]]) =>
    bad.map((value): Line => [`${name} is ${String(value)}`, { [name]: value }, wrong(words, name)]),
  ),
  ...Object.keys({ ...options, ...wholeOptions }).map((name): Line => [
    ...([`${name} is a text`, { [name]: '1' }, wrong(/a (whole )?number/, name)] as const),
  ]),
  ['top_p is huge', { top_p: 1e39 }, wrong(/a smaller number$/, 'top_p')],
  ['breakers', { ...drawn, dry_sequence_breakers: ['the', '\n'] }, ok()],
  ['no breakers', { ...drawn, dry_sequence_breakers: [] }, ok()],
  ['an empty breaker', { dry_sequence_breakers: [''] }, refused(/has 0 bytes, expected 1 to 64$/)],
  ['a bias of a token beyond', { logit_bias: { 2048: 1 } }, wrong(/^logit_bias has the key "2048", expected a token id from 0 to 2047$/, 'logit_bias')],
  ['a bias that is a text', { logit_bias: { 5: 'a' } }, wrong(/a number$/, 'logit_bias.5')],
  ['a bias beyond', { logit_bias: { 5: 101 } }, wrong(/^logit_bias.5 is 101, expected -100 to 100$/, 'logit_bias.5')],
  ['an empty stop text', { stop: [''] }, wrong(/stop/, 'stop')],
  ['too many stop texts', { stop: Array.from({ length: 257 }, () => 'a') }, wrong(/257 stop strings, expected at most 256$/, 'stop')],
]; // prettier-ignore

// --- Completions -----------------------------------------------------------------------------

const numbers = (n: number) => Array.from({ length: n }, () => expect.any(Number) as number);

const complete = usually('chat', '/completions', { prompt: opening, ...greedy });
const completions: Line[] = [
  ['a text', {}, { ...cut, like: { object: 'text_completion', usage: { prompt_tokens: 5 } } }],
  ['texts', { prompt: ['One day', 'The cat'] }, ok({ finish: ['length', 'length'] })],
  ['texts and choices', { prompt: ['One day', 'The cat'], n: 2 }, ok({ finish: ['length', 'length', 'length', 'length'] })],
  ['tokens', { prompt: [1, 393, 346] }, cut],
  ['lists of tokens', { prompt: [[1, 393], [1, 346]] }, ok({ finish: ['length', 'length'] })],
  ['a mix', { prompt: [[1, 393], 'The cat'] }, ok({ finish: ['length', 'length'] })],
  ['an echo', { echo: true }, { ...cut, text: /^Once upon a time/ }],
  ['an echo of tokens', { echo: true, prompt: [1, 393, 346] }, { ...cut, text: /^ ?One day/ }],
  ['an echo and logprobs', { echo: true, logprobs: 2 }, {
    ...cut,
    text: /^Once upon a time, there was/,
    like: { choices: [{ logprobs: { tokens: ['', 'Once', ' upon', ' a', ' time', ',', ' there', ' was', ' a'], text_offset: [0, 0, 4, 9, 11, 16, 17, 23, 27], token_logprobs: [null, ...numbers(8)], top_logprobs: [null, ...Array.from({ length: 8 }, () => expect.any(Object) as object)] } }] },
  }],
  ['an echo of characters in parts, and logprobs', { echo: true, logprobs: 0, prompt: '猫 sat' }, cut],
  ['an echo of marks, and logprobs', { echo: true, logprobs: 0, prompt: '<s>One day</s> A cat' }, ok()],
  ['an echo of tokens, and logprobs', { echo: true, logprobs: 1, prompt: [[393, 346], [5]], n: 2 }, ok()],
  ['an echo of a long text, and logprobs', { echo: true, logprobs: 1, prompt: 'A dog ran to the sea. '.repeat(6) }, cut],
  ['logprobs of the prompt only', { echo: true, logprobs: 1, max_tokens: 0 }, {
    ...cut,
    text: /^Once upon a time$/,
    like: { choices: [{ logprobs: { tokens: ['', 'Once', ' upon', ' a', ' time'] } }], usage: { prompt_tokens: 5, completion_tokens: 0 } },
  }],
  ['an echo only', { echo: true, max_tokens: 0 }, { ...cut, text: /^Once upon a time$/, like: { choices: [{ logprobs: null }] } }],
  ['logprobs', { logprobs: 3 }, cut],
  ['logprobs of no others', { logprobs: 0 }, cut],
  ['a suffix of nothing', { suffix: '', best_of: 1 }, cut],
  ['the best of as many', { best_of: 2, n: 2 }, ok({ finish: ['length', 'length'] })],
  ['16 tokens', { max_tokens: null }, { ...cut, like: { usage: { completion_tokens: 16 } } }],
  ['a grammar', { grammar: 'root ::= " yes" | " no"', max_tokens: 20 }, { ...stopped, text: /^ (yes|no)$/ }],
  ['a stop text', { stop: 'Lily', max_tokens: 24 }, { ...stopped, text: /^, there was a little girl named $/ }],
  ['a full context', { prompt: Array.from({ length: 505 }, () => 393), max_tokens: 20 }, cut],
  ['marks in a text', { prompt: '<s>One day</s>' }, ok()],
]; // prettier-ignore
const wrongCompletions: Line[] = [
  ['no tokens and no echo', { max_tokens: 0 }, wrong(/from 1 to/, 'max_tokens')],
  ['a suffix', { suffix: 'a' }, unknown('suffix')],
  ['the best of more', { best_of: 3, n: 2 }, unknown('best_of')],
  ['no prompt', { prompt: null }, wrong(/^prompt is missing/, 'prompt')],
  ['a number', { prompt: 3 }, wrong(/^prompt is 3/, 'prompt')],
  ['an empty list', { prompt: [] }, wrong(/an array of either$/, 'prompt')],
  ['a list of null', { prompt: [null] }, wrong(/^prompt\[0\] is null, expected a string or/, 'prompt')],
  ['an empty text', { prompt: '' }, cut],
  ['no tokens', { prompt: [[]] }, wrong(/^prompt\[0\] is an empty array, .* at least one token id$/, 'prompt')],
  ['a token beyond', { prompt: [2048] }, wrong(/from 0 to 2047$/, 'prompt')],
  ['a negative token', { prompt: [1, -1] }, wrong(/from 0 to 2047$/, 'prompt')],
  ['a token in parts', { prompt: [1, 1.5] }, wrong(/from 0 to 2047$/, 'prompt')],
  ['a text among tokens', { prompt: [1, 'a'] }, wrong(/from 0 to 2047$/, 'prompt')],
  ['129 texts', { prompt: Array.from({ length: 129 }, () => 'a') }, wrong(/at most 128$/, 'prompt')],
  ['a long prompt', { prompt: long }, wrong(/^the prompt has .* has room for 512$/, 'prompt', 'context_length_exceeded')],
  ['one that is too long', { prompt: ['a', long] }, wrong(/^prompt\[1\]: the prompt has .* has room for 512$/, 'prompt', 'context_length_exceeded')],
  ['too many logprobs', { logprobs: 101 }, wrong(/from 0 to 100$/, 'logprobs')],
  ['logprobs as in chats', { logprobs: true }, wrong(/from 0 to 100$/, 'logprobs')],
  ['an echo that is a text', { echo: 'a' }, wrong(/true or false$/, 'echo')],
  ['a damaged grammar', { grammar: 'root ::= (' }, wrong(/grammar/, 'grammar', 'invalid_grammar')],
  ['a token beyond the vocabulary', { grammar: 'root ::= <[2048]>' }, wrong(/column 10 of the grammar: token id 2048 is out of range \(vocabulary: 2048\)$/, 'grammar', 'invalid_grammar')],
  ['a grammar without a token', { grammar: 'root ::= "\\x00"' }, ok()],
  ['messages', { messages }, unknown('messages')],
  ['a parameter of chats', { max_completion_tokens: 3 }, unknown('max_completion_tokens')],
]; // prettier-ignore

// --- Responses -------------------------------------------------------------------------------

const brief = { temperature: 0, max_output_tokens: 4 };
const respond = usually('chat', '/responses', { input: opening, ...brief });
const incomplete = ok({ finish: ['incomplete'] });
const completed = ok({ finish: ['completed'] });
const item = (type: string, more: object) => ({ type, ...more });
const own = (name: string, parameters?: object) => ({ type: 'function', name, parameters });
const ownLook = own('look', look.function.parameters);
const ownCall = item('function_call', {
  call_id: 'abcdefghi',
  name: 'look',
  arguments: '{"at":"sea"}',
});
const ownResult = item('function_call_output', { call_id: 'abcdefghi', output: 'Wet' });
const asked = { input: 'Go', max_output_tokens: 90, tools: [ownLook] };
const text = (format: unknown) => ({ text: { format } });

const responses: Line[] = [
  ['a text', {}, { ...incomplete, like: { object: 'response', incomplete_details: { reason: 'max_output_tokens' } } }],
  ['a message', { input: [user(opening)] }, incomplete],
  ['a message that says so', { input: [item('message', user([{ type: 'input_text', text: 'Hi' }]))] }, incomplete],
  ['instructions', { instructions: 'Be kind.', input: 'Hi' }, { ...incomplete, like: { instructions: 'Be kind.' } }],
  ['a developer', { input: [{ role: 'developer', content: 'Be kind.' }, user('Hi')] }, incomplete],
  ['turns', { input: [user('Hi'), assistant([{ type: 'output_text', text: 'Hello.', annotations: [] }]), user('A cat?')] }, incomplete],
  ['a refusal', { input: [user('Hi'), assistant([{ type: 'refusal', refusal: 'No.' }]), user('Why?')] }, incomplete],
  ['a thought', { input: [user('a'), item('reasoning', { id: 'rs_a', summary: [], content: [{ type: 'reasoning_text', text: 'b' }] }), assistant('c'), user('d')] }, incomplete],
  ['a call and its result', { input: [user('a'), ownCall, ownResult] }, incomplete],
  ['a result in parts', { input: [user('a'), ownCall, { ...ownResult, output: [{ type: 'input_text', text: 'b' }] }] }, incomplete],
  ['logprobs', { include: ['message.output_text.logprobs'], top_logprobs: 2 }, incomplete],
  ['logprobs of no others', { include: ['message.output_text.logprobs'] }, incomplete],
  ['what is not told anyway', { include: ['reasoning.encrypted_content'], top_logprobs: 2 }, incomplete],
  ['text as format', text({ type: 'text' }), incomplete],
  ['a schema', { ...text({ type: 'json_schema', name: 'own', schema: schemas.members }), max_output_tokens: 90 }, completed],
  ['an object', { ...text({ type: 'json_object' }), temperature: 1, seed: 4 }, incomplete],
  ['tools', { ...asked, max_output_tokens: 4 }, incomplete],
  ['no tools', { ...asked, tool_choice: 'none', max_output_tokens: 4 }, incomplete],
  ['a call', { ...asked, tool_choice: 'required', parallel_tool_calls: false }, { ...completed, calls: ['look'] }],
  ['a call by name', { ...asked, tool_choice: { type: 'function', name: 'look' } }, { ...completed, calls: ['look'] }],
  ['what is allowed', { ...asked, parallel_tool_calls: false,
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] } }, { ...completed, calls: ['look'] }],
  ['a call that is cut', { ...asked, tool_choice: 'required', max_output_tokens: 3 }, incomplete],
  ['no effort', { reasoning: { effort: 'none', summary: 'auto' } }, incomplete],
  ['many turns, the oldest left out', { input: [...manyTurns, user('Why?')], truncation: 'auto' }, incomplete],
  ['a draw', { temperature: 1, seed: 3, top_p: 0.9, top_k: 30 }, { ...incomplete, like: { top_p: 0.9 } }],
  ['ignored fields', { ...ignored, metadata: { a: 'b' }, truncation: 'auto', max_tool_calls: 3, text: { verbosity: 'low' } },
    { ...incomplete, like: { metadata: { a: 'b' }, truncation: 'auto' } }],
  ['null everywhere', { background: null, previous_response_id: null, conversation: null, include: null, text: null,
    tools: null, tool_choice: null, reasoning: null, instructions: null, messages: null, n: null }, incomplete],
]; // prettier-ignore
const wrongResponses: Line[] = [
  ['an earlier response', { previous_response_id: 'resp_a' }, wrong(/answers are not stored/, 'previous_response_id')],
  ['work in the background', { background: true }, wrong(/answers are not stored/, 'background')],
  ['a conversation', { conversation: 'conv_a' }, unknown('conversation')],
  ['a prompt', { prompt: { id: 'a' } }, unknown('prompt')],
  ...['messages', 'n', 'max_tokens', 'max_completion_tokens', 'logprobs', 'response_format', 'reasoning_effort'].map(
    (name): Line => [`the chat's ${name}`, { [name]: 1 }, unknown(name)],
  ),
  ['no input', { input: null }, wrong(/must be a string or an array of items/, 'input')],
  ['a number', { input: 3 }, wrong(/must be a string or an array of items/, 'input')],
  ['an empty list', { input: [] }, wrong(/at least one object/, 'input')],
  ['an array of strings', { input: ['a'] }, wrong(/must be a string or an array of items/, 'input[0]')],
  ['an item of another type', { input: [item('web_search_call', {})] }, wrong(/"web_search_call" is not supported/, 'input[0]')],
  ['a message of another role', { input: [{ role: 'tool', content: 'a' }] }, wrong(/the role "tool" is not/, 'input[0].role')],
  ['a file', { input: [user([{ type: 'input_file', file_id: 'a' }])] }, wrong(/"input_file" is not supported/, 'input[0].content[0]')],
  ['a call without a name', { input: [item('function_call', {})] }, wrong(/the name of a function/, 'input[0].name')],
  ['an item with more', { input: [{ ...user('a'), own: 1 }] }, unknown('input[0].own')],
  ['a long input', { input: long }, refused(/has room for 512$/, 'context_length_exceeded')],
  ['no tokens', { max_output_tokens: 0 }, wrong(/a whole number from 1/, 'max_output_tokens')],
  ['instructions that are a list', { instructions: [] }, wrong(/a string$/, 'instructions')],
  ['a format that is none', text({ type: 'own' }), wrong(/"own" is not supported/, 'text.format')],
  ['a format with more', text({ type: 'text', own: 1 }), unknown('text.format.own')],
  ['a schema that is not supported', text({ type: 'json_schema', schema: { unevaluatedItems: {} } }), wrong(/"unevaluatedItems" is not supported/, 'text.format')],
  ['a text that is one', { text: 'a' }, wrong(/an object$/, 'text')],
  ['a tool of a service', { tools: [{ type: 'web_search' }] }, wrong(/"web_search" is not supported/, 'tools[0]')],
  ['tools that are none', { tools: {} }, wrong(/an array of tools/, 'tools')],
  ['a choice of a service', { ...asked, tool_choice: { type: 'web_search' } }, wrong(/"web_search" is not supported/, 'tool_choice')],
  ['a choice of another tool', { ...asked, tool_choice: { type: 'function', name: 'run' } }, wrong(/"run", which is not/, 'tool_choice')],
  ['an effort that is a number', { reasoning: { effort: 3 } }, wrong(/a string$/, 'reasoning.effort')],
  ['include that is a number', { include: 3 }, wrong(/an array of strings$/, 'include')],
  ['an unknown field', { own: 1 }, unknown('own')],
  ['temperature that is a text', { temperature: 'a' }, wrong(/a number$/, 'temperature')],
  ['a stream that is a text', { stream: 'a' }, wrong(/true or false$/, 'stream')],
]; // prettier-ignore

// --- Numbers of tokens -----------------------------------------------------------------------

const counted = (n: unknown) => ok({ like: { object: 'response.input_tokens', input_tokens: n } });
const some = counted(expect.any(Number));
const counts: Case[] = [
  ...usually('chat', '/chat/completions/input_tokens', { messages })(
    ['a message', {}, some],
    ['tools', { tools }, some],
    ['a long prompt', { messages: [user(long)] }, some],
    ['no messages', { messages: [] }, wrong(/at least one object/, 'messages')],
    ['an unknown field', { own: 1 }, unknown('own')],
  ),
  ...usually('plain', '/chat/completions/input_tokens', { messages })(['a message', {}, some], ['tools', { tools }, some]),
  ...usually('chat', '/responses/input_tokens', { input: opening })(
    ['a text', {}, some],
    ['instructions and tools', { instructions: 'Be kind.', tools: [ownLook] }, some],
    ['a long input', { input: long }, some],
    ['no input', { input: 3 }, wrong(/a string or an array of items/, 'input')],
  ),
  ...usually('chat', '/completions/input_tokens', { prompt: opening })(
    ['is nowhere', {}, { status: 404, message: /^there is nothing at POST/, param: null, code: 'unknown_url' }],
  ),
]; // prettier-ignore

// --- Vectors and scores ----------------------------------------------------------------------

const embed = usually('embedder', '/embeddings', { input: 'A dog.' });
const vectors = (n: number) => ok({ like: { object: 'list', data: Array.from({ length: n }, (_, index) => ({ index })) } }); // prettier-ignore
const embeddings: Line[] = [
  ['a text', {}, vectors(1)],
  ['a name of the model', { model: 'any', user: 'a' }, { ...vectors(1), like: { model: 'any' } }],
  ['texts', { input: ['A dog.', 'Rain.', ''] }, vectors(3)],
  ['floats', { encoding_format: 'float' }, vectors(1)],
  ['Base64', { encoding_format: 'base64', input: ['A dog.', 'Rain.'] }, vectors(2)],
  ['fewer numbers', { dimensions: 7 }, vectors(1)],
  ['fewer numbers in Base64', { dimensions: 7, encoding_format: 'base64' }, vectors(1)],
  ['one number', { dimensions: 1 }, vectors(1)],
  ...['mean', 'cls', 'last'].map((pooling): Line => [`pooling ${pooling}`, { pooling }, vectors(1)]),
  ['tokens', { input: [2, 7, 9, 3] }, vectors(1)],
  ['lists of tokens', { input: [[2, 7, 3], [2, 9, 3]] }, vectors(2)],
  ['a mix', { input: ['A dog.', [2, 9, 3]] }, vectors(2)],
  ['null everywhere', { model: null, encoding_format: null, dimensions: null, pooling: null }, vectors(1)],
  ['no pooling', { pooling: 'none' }, wrong(/does not give one vector/, 'pooling')],
  ['another pooling', { pooling: 'own' }, refused(/own/)],
  ['another format', { encoding_format: 'hex' }, wrong(/"hex" is not supported/, 'encoding_format')],
  ['no numbers', { dimensions: 0 }, wrong(/from 1 to 48$/, 'dimensions')],
  ['too many numbers', { dimensions: 49 }, wrong(/from 1 to 48$/, 'dimensions')],
  ['no input', { input: null }, wrong(/^input is missing/, 'input')],
  ['an empty list', { input: [] }, wrong(/an array of either$/, 'input')],
  ['an object', { input: { text: 'a' } }, wrong(/an array of either$/, 'input')],
  ['a token beyond', { input: [2, 9999] }, wrong(/^token 1 is 9999, expected an id from 0 to/, 'input')],
  ['a long text', { input: 'a '.repeat(100) }, wrong(/^the text has /, 'input', 'context_length_exceeded')],
  ['a long text of several', { input: ['a', 'a '.repeat(100)] }, wrong(/^input\[1\]: the text has /, 'input', 'context_length_exceeded')],
  ['too many tokens', { input: Array.from({ length: 65 }, () => 5) }, wrong(/^the text has .* the model's context is 64$/, 'input', 'context_length_exceeded')],
  ['2049 texts', { input: Array.from({ length: 2049 }, () => 'a') }, wrong(/at most 2048$/, 'input')],
  ['an unknown field', { own: 1 }, unknown('own')],
  ['a stream', { stream: true }, unknown('stream')],
]; // prettier-ignore

const label = usually('chat', '/classify', {
  input: 'The sun was warm.',
  labels: ['happy', 'very sad'],
});
const labelled = (n: number, like: object = {}) =>
  ok({
    like: {
      object: 'list',
      data: Array.from({ length: n }, (_, index) => ({ index, num_classes: 2, ...like })),
    },
  });
const classes: Line[] = [
  ['a text', {}, labelled(1)],
  ['texts', { input: ['a', 'the rain', 'a'] }, labelled(3)],
  ['with an instruction', { instruction: 'How does it feel?', per_token: true }, labelled(1)],
  ['with examples', { examples: [{ text: 'I cry.', label: 'very sad' }] }, labelled(1)],
  ['null everywhere', { model: null, instruction: null, examples: null, per_token: null, user: null }, labelled(1)],
  ['no input', { input: null }, wrong(/^input is missing/, 'input')],
  ['no labels', { labels: null }, refused(/the labels are missing/, 'invalid_argument')],
  ['one label', { labels: ['a'] }, refused(/found 1 label,/, 'invalid_argument')],
  ['a label twice', { labels: ['a', 'b', 'a'] }, refused(/"a" occurs twice/, 'invalid_argument')],
  ['a wrong example', { examples: [{ text: 'a' }] }, wrong(/^examples\[0\] has no label$/, 'examples[0]')],
  ['an example of no label', { examples: [{ text: 'a', label: 'b' }] }, refused(/not one of the labels/, 'invalid_argument')],
  ['a long text', { input: ['a', 'a '.repeat(2000)] }, wrong(/^input\[1\]: the prompt has .* context/, 'input', 'context_length_exceeded')],
  ['an unknown field', { own: 1 }, unknown('own')],
]; // prettier-ignore

const documents = ['A dog ran.', 'Rain fell.', 'It was late.'];
const rank = usually('reranker', '/rerank', { query: 'rain', documents });
const ranks = (n: number) => ok({ like: { results: Array.from({ length: n }, () => ({})) } });
const scores: Line[] = [
  ['texts', {}, ranks(3)],
  ['objects', { documents: documents.map((each) => ({ text: each })) }, ranks(3)],
  ['both', { documents: ['A dog ran.', { text: 'Rain fell.', id: 3 }] }, ranks(2)],
  ['the best', { top_n: 1 }, ranks(1)],
  ['more than there are', { top_n: 9 }, ranks(3)],
  ['the documents too', { return_documents: true, top_n: 2 }, ok({ like: { results: [{ document: {} }, { document: {} }] } })],
  ['the same twice', { documents: ['Rain.', 'Rain.'] }, ranks(2)],
  ['a document that is cut', { documents: ['a '.repeat(200), 'Rain.'] }, ranks(2)],
  ['an empty document', { documents: [''] }, ranks(1)],
  ['null everywhere', { model: null, top_n: null, return_documents: null, user: null }, ranks(3)],
  ['no query', { query: null }, wrong(/the query is missing/, 'query')],
  ['an empty query', { query: '' }, wrong(/the query is missing/, 'query')],
  ['a query that is a list', { query: ['rain'] }, wrong(/a string$/, 'query')],
  ['no documents', { documents: [] }, wrong(/must be an array of at least one string/, 'documents')],
  ['one text', { documents: 'A dog ran.' }, wrong(/must be an array of at least one string/, 'documents')],
  ['a number', { documents: [3] }, wrong(/^documents\[0\] is 3/, 'documents')],
  ['an object without text', { documents: ['a', { title: 'a' }] }, wrong(/^documents\[1\] is an object, expected a string or \{"text": …\}$/, 'documents')],
  ['a long query', { query: 'a '.repeat(100) }, wrong(/the query/, 'query', 'context_length_exceeded')],
  ['top_n of 0', { top_n: 0 }, wrong(/a whole number from 1/, 'top_n')],
  ['top_n that is a text', { top_n: '1' }, wrong(/a whole number from 1/, 'top_n')],
  ['return_documents that is a number', { return_documents: 1 }, wrong(/true or false$/, 'return_documents')],
  ['an unknown field', { own: 1 }, unknown('own')],
]; // prettier-ignore

// --- Pictures --------------------------------------------------------------------------------

const urlOf = (file: Buffer, type = 'image/png') =>
  `data:${type};base64,${file.toString('base64')}`;
const pattern = png(40, 30, (x, y) => [x * 6, y * 8, 99, 255]);
const other = png(40, 30, (x, y) => [y * 8, x * 6, 11, 255]);
const see = (...parts: (string | Buffer)[]) => [
  user(parts.map((part) => typeof part === 'string' ? { type: 'text', text: part } : image(urlOf(part)))),
]; // prettier-ignore
const sight: Line[] = [
  ['a picture', { messages: see('a ', pattern, ' b') }, ok()],
  ['two pictures', { messages: see(pattern, 'or', other, '?') }, ok()],
  ['a text like a mark of pictures', { messages: see('<picture-0><picture-1>', pattern) }, ok()],
  ['pictures of two turns', { messages: [...see(pattern), assistant('a'), ...see('b', other)] }, ok()],
  ['a JPEG', { messages: [user([image(urlOf(turnedJpeg, 'image/jpeg'))])] }, ok()],
  ['a detail', { messages: [user([{ type: 'image_url', image_url: { url: urlOf(pattern), detail: 'low' } }])] }, ok()],
  ['a URL in place of the object', { messages: [user([{ type: 'image_url', image_url: urlOf(pattern) }])] }, ok()],
  ['32 pictures', { messages: see(...Array.from({ length: 32 }, () => pattern)) }, refused(/has room for/, 'context_length_exceeded')],
]; // prettier-ignore
// The package lets the browser, or Node's sharp, decode pictures, and tells what they tell.
const wrongPictures: Line[] = [
  ['a file', { messages: [user([image('file:///etc/passwd')])] }, wrong(/./, 'messages')],
  ['no Base64', { messages: [user([image('data:image/png;base64,%%%%')])] }, wrong(/./, 'messages')],
  ['nothing', { messages: [user([image('data:image/png;base64,')])] }, wrong(/./, 'messages')],
  ['a GIF', { messages: [user([image(urlOf(Buffer.from('GIF89a....'), 'image/gif'))])] }, wrong(/neither a PNG nor a JPEG/, 'messages')],
  ['half a PNG', { messages: see(pattern.subarray(0, 60)) }, wrong(/cannot be read as a picture/, 'messages')],
]; // prettier-ignore
const wrongSight: Line[] = [
  ['text alone', {}, ok()],
  ['no URL', { messages: [user([{ type: 'image_url' }])] }, wrong(/must hold "image_url"/, 'messages')],
  ['33 pictures', { messages: see(...Array.from({ length: 33 }, () => pattern)) }, wrong(/more than 32 pictures/, 'messages')],
  ['sounds', { messages: [user([{ type: 'input_audio' }])] }, wrong(/"input_audio" is not supported/, 'messages[0].content[0]')],
]; // prettier-ignore
const inputImage = { type: 'input_image', image_url: urlOf(pattern), detail: 'high' };

// --- Addresses -------------------------------------------------------------------------------

const get = (model: ModelName, path: string, like: object): Case => ({
  ...{ name: `GET ${path} of ${model}`, model, method: 'GET', path, expected: ok({ like }) },
});
const nowhere = (method: Case['method'], path: string, body?: object): Case => ({
  ...{ name: `${method} ${path} is nowhere`, model: 'chat', method, path },
  ...(body && { body }),
  expected: { status: 404, message: /^there is nothing at/, param: null, code: 'unknown_url' },
});
const sent = (path: string, body: string, message: RegExp): Case => ({
  ...{ name: `POST ${path} ${JSON.stringify(body.slice(0, 30))}`, model: 'chat', method: 'POST' },
  ...{ path, body, expected: wrong(message, null) },
});
const posted = ['chat/completions', 'completions', 'responses', 'embeddings', 'rerank', 'classify'];
const addresses: Case[] = [
  ...(['chat', 'plain', 'pictures', 'embedder', 'reranker'] as const).map((model) =>
    get(model, '/v1/models', { object: 'list', data: [{ object: 'model', owned_by: 'kinglet' }] }),
  ),
  get('chat', '/models', { data: [{ id: 'Kinglet Stories 5M', context_length: 512 }] }),
  get('chat', '/v1/models/gpt', { id: 'gpt', object: 'model' }),
  get('chat', '/models/org/gpt', { id: 'org/gpt' }),
  get('chat', '/v1/models/a%20b%2Fc', { id: 'a b/c' }),
  get('chat', '/v1/models/%C3%A9?x=1', { id: 'é' }),
  ...['/v1', '/v1/nothing', '/v1/files'].map((path) => nowhere('GET', path)),
  nowhere('GET', '/'),
  ...posted.map((path) => nowhere('GET', `/v1/${path}`)),
  ...['audio/speech', 'models', 'models/gpt', 'images/generations', 'chat', 'chat/completions/x'].map((path) =>
    nowhere('POST', `/v1/${path}`, {}),
  ),
  nowhere('DELETE', '/v1/models/gpt'),
  nowhere('DELETE', '/v1/responses/resp_a'),
  nowhere('PUT', '/v1/chat/completions', { messages }),
  ...posted.flatMap((path) => [
    sent(`/v1/${path}`, '', /./),
    sent(`/v1/${path}`, '[]', /^the body is not a JSON object$/),
  ]),
  sent('/v1/completions', '{', /./),
  sent('/v1/completions', '3', /^the body is not a JSON object$/),
  sent('/v1/completions', '{"prompt":"a"} x', /./),
  sent('/v1/completions', '{"prompt":"\\ud800"}', /./),
  sent('/v1/chat/completions', '['.repeat(500), /./),
  sent('/v1/completions', `{${Array.from({ length: 10_001 }, (_, i) => `"k${String(i)}":1`).join()}}`, /./),
  { name: 'a field twice', model: 'chat', method: 'POST', path: '/v1/completions',
    body: '{"prompt":"a","prompt":"Once","temperature":0}', expected: cut },
  { name: 'a path without the version', model: 'chat', method: 'POST', path: '/completions',
    body: { prompt: opening, ...greedy }, expected: cut },
]; // prettier-ignore

/** Requests that a model of another kind cannot answer. */
const misplaced: Case[] = [
  ...(['embedder', 'reranker'] as const).flatMap((model) => [
    ...ofChat(model)(['is refused', {}, refused(/cannot generate text/, 'unsupported_feature')]),
    ...usually(model, '/completions', { prompt: 'a' })(['is refused', {}, refused(/cannot generate text/, 'unsupported_feature')]),
    ...usually(model, '/responses', { input: 'a' })(['is refused', {}, refused(/cannot generate text/, 'unsupported_feature')]),
  ]),
  ...usually('reranker', '/embeddings', { input: 'a' })(['is refused', {}, wrong(/./, 'pooling')]),
  ...usually('embedder', '/rerank', { query: 'a', documents })(['is refused', {}, refused(/./, 'unsupported_feature')]),
  ...usually('chat', '/rerank', { query: 'a', documents })(['is refused', {}, refused(/./, 'unsupported_feature')]),
  ...(['embedder', 'reranker'] as const).flatMap((model) =>
    usually(model, '/classify', { input: 'a', labels: ['a', 'b'] })(['is refused', {}, refused(/classification needs/, 'unsupported_feature')]),
  ),
  ...usually('chat', '/embeddings', { input: 'A dog.' })(['of a text model', {}, vectors(1)], ['of its last token', { pooling: 'last', dimensions: 9 }, vectors(1)]),
]; // prettier-ignore

// --- All -------------------------------------------------------------------------------------

const chats: Case[] = [
  ...(['chat', 'plain', 'mistral'] as const).flatMap((model) => ofChat(model)(...conversations)),
  ...alsoStreamed(chat(...answers)),
  ...chat(
    ['a stream', { stream: true }, cut],
    ['a stream with its usage', { stream: true, stream_options: { include_usage: true } },
      { ...cut, like: { choices: [], usage: { completion_tokens: 4 } } }],
    ['a stream without its usage', { stream: true, stream_options: { include_usage: false, include_obfuscation: false } }, cut],
    ['a wrong option of a stream', { stream: true, stream_options: { own: 1 } }, unknown('stream_options.own')],
    ['a wrong type of one', { stream_options: { include_usage: 1 } }, wrong(/true or false$/, 'stream_options.include_usage')],
    ['a stream that is refused', { stream: true, messages: [user(long)] }, refused(/has room for 512$/, 'context_length_exceeded')],
    ...formats,
    ...wrongMessages,
    ...wrongTools,
    ...typeLines({ ...wrongTypes, ...wrongChatTypes }),
    ['ignored fields', ignored, cut],
    ['an unknown field', { own: 1 }, unknown('own')],
    ['functions, which are obsolete', { functions: [] }, unknown('functions')],
    ...needlessOf({ ...needless, echo: [false, true], add_generation_prompt: [true, false],
      continue_final_message: [false, true], reasoning_format: ['auto', 'none'] }),
  ),
  ...alsoStreamed([
    ...ofChat('chat', calling)(...calls),
    ...ofChat('plain', calling)(...calls),
    ...ofChat('mistral', calling)(...calls),
    ...ofChat('mistral', { ...calling, tools: [look, wait] })(
      ['one of two tools', { tool_choice: allowed('required', ['wait']), parallel_tool_calls: false }, called('wait')],
      ['the other', { tool_choice: named('look') }, called('look')],
    ),
    ...ofChat('plain')(...formats.slice(0, 3)),
    ...ofChat('thinker')(
      ['a thought', { max_tokens: 6 }, { ...cut, thought: /./, text: /^$/ }],
      ['a thought that must end', { max_tokens: 40, max_thinking_tokens: 5 }, ok({ thought: /./ })],
      ['no thought', { max_tokens: 10, max_thinking_tokens: 0 }, cut],
      ['a thought and a schema', { ...made, max_thinking_tokens: 5, ...formatOf(schemas.members) }, { ...stopped, thought: /./ }],
      ['a thought and a grammar', { ...made, max_thinking_tokens: 5, grammar: 'root ::= "yes"' }, { ...stopped, thought: /^$/, text: /^yes$/ }],
      ['a thought and a call', { ...calling, max_thinking_tokens: 5, tool_choice: named('look') }, { ...called('look'), thought: /./ }],
      ['a thought with logprobs', { max_tokens: 8, max_thinking_tokens: 3, logprobs: true, top_logprobs: 1 }, { ...cut, thought: /./ }],
    ),
    ...usually('thinker', '/responses', { input: opening, temperature: 0 })(
      ['a thought and a schema', { ...text({ type: 'json_schema', schema: schemas.members }), max_thinking_tokens: 5, max_output_tokens: 90 },
        { ...completed, thought: /./ }],
    ),
  ]),
]; // prettier-ignore

export const cases: Case[] = [
  ...chats,
  ...complete(...samplings),
  ...alsoStreamed(complete(...completions)),
  ...complete(
    ...wrongCompletions,
    ...typeLines(wrongTypes),
    ...needlessOf(needless),
    ['ignored fields', ignored, cut],
    ['an unknown field', { own: 1 }, unknown('own')],
    ['a stream with its usage', { stream: true, stream_options: { include_usage: true } }, { ...cut, like: { usage: { completion_tokens: 4 } } }],
  ),
  ...alsoStreamed(respond(...responses)),
  ...respond(...wrongResponses),
  ...counts,
  ...embed(...embeddings),
  ...rank(...scores),
  ...label(...classes),
  ...withPictures(alsoStreamed(ofChat('pictures')(...sight))),
  ...unlike(ofChat('pictures')(...wrongPictures)),
  ...ofChat('pictures')(...wrongSight),
  ...withPictures(usually('pictures', '/responses', brief)(
    ['a picture', { input: [user([inputImage, { type: 'input_text', text: 'what?' }])] }, ok()],
  )),
  ...usually('pictures', '/responses', brief)(
    ['no URL', { input: [user([{ type: 'input_image' }])] }, wrong(/a data URL$/, 'input[0].content[0].image_url')],
  ),
  ...withPictures(usually('pictures', '/chat/completions/input_tokens', {})(
    ['a picture', { messages: see(pattern, 'a') }, some],
    ['a picture, and a tool that tells of marks', { messages: see(pattern), tools: [{ type: 'function', function: { name: 'f', description: '<picture-0>' } }] }, some],
  )),
  // The package could load a picture reader, and says how.
  ...unlike(chat(['a picture', { messages: see(pattern) }, wrong(/the model reads text only/, 'messages[0].content[0]')])),
  ...unlike(respond(['a picture', { input: [user([inputImage])] }, wrong(/the model reads text only/, 'input')])),
  ...addresses,
  ...misplaced,
]; // prettier-ignore
