// The tools that a model may call.
import { KingletError } from './errors.ts';
import type { KnownTool } from './protocol.ts';
import type { ChatTool } from './types.ts';

/**
 * Returns what the engine must know about the tools to read their calls. Some models write values
 * without quotes, so that only the tool's schema distinguishes strings from numbers.
 *
 * @throws KingletError `invalid_argument` if a tool is not valid.
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
    const root = (parameters ?? {}) as Schema;
    const properties = Object.entries(root.properties ?? {});
    const textParameters = properties
      .filter(([, schema]) => isText(definitionOf(schema, root)))
      .map(([key]) => key);
    return { name, textParameters };
  });
}

interface Schema {
  type?: unknown;
  const?: unknown;
  enum?: unknown;
  $ref?: unknown;
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
}

/**
 * Returns the definition that a property of `root` refers to, or else the property's own schema.
 */
function definitionOf(schema: Schema, { $defs, definitions }: Schema): Schema {
  const [, table, name = ''] = /^#\/(\$defs|definitions)\/(.*)$/.exec(String(schema.$ref)) ?? [];
  if (table === undefined) return schema;
  return (table === '$defs' ? $defs : definitions)?.[name] ?? schema;
}

function isText({ type, const: only, enum: values }: Schema): boolean {
  if (type !== undefined) return type === 'string';
  if (only !== undefined) return typeof only === 'string';
  return Array.isArray(values) && values.every((value) => typeof value === 'string');
}
