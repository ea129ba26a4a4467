// Tools that a model may call, as its chat template tells it of them.
import { KingletError } from './errors.ts';
import type { KnownTool } from './protocol.ts';
import type { ChatTool } from './types.ts';

/**
 * What the engine must know of the tools to read calls of them. Some models write values without
 * quotes, so that only the tool's schema tells strings from numbers.
 *
 * @throws KingletError `invalid_argument` of what is no tool.
 */
export function knownTools(tools: readonly ChatTool[]): KnownTool[] {
  return tools.map((tool) => {
    const { name, parameters } = (tool as Partial<ChatTool>).function ?? {};
    if (typeof name !== 'string') {
      throw new KingletError(
        'invalid_argument',
        'each of the tools must be { type: "function", function: { name, … } }',
      );
    }
    const properties = Object.entries((parameters as Schema | undefined)?.properties ?? {});
    const textParameters = properties.filter(([, schema]) => isText(schema)).map(([key]) => key);
    return { name, textParameters };
  });
}

interface Schema {
  type?: unknown;
  enum?: unknown;
  properties?: Record<string, Schema>;
}

function isText({ type, enum: values }: Schema): boolean {
  if (type !== undefined) return type === 'string';
  return Array.isArray(values) && values.every((value) => typeof value === 'string');
}
