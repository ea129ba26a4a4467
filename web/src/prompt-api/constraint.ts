// Converts a `responseConstraint` to options of generate().
import { jsonOf } from '../options.ts';
import type { GenerateOptions } from '../types.ts';
import { notSupported } from './errors.ts';

export interface Constraint {
  options: GenerateOptions;
  /** Describes the constraint to the model. */
  instruction: string;
  /** Converts the pieces that the model writes to the answer's text. */
  read: (written: string) => string;
}

const asItIs = (written: string) => written;

export function constraintOf(given: object | undefined): Constraint {
  if (given === undefined) return { options: {}, instruction: '', read: asItIs };
  if (given instanceof RegExp) return expressionConstraint(given);
  const schema = jsonOf('responseConstraint', given, { hasFunctions: false });
  const instruction = `Answer with JSON that is valid under this schema: ${schema}`;
  return { options: { jsonSchema: given }, instruction, read: asItIs };
}

/** The model writes a JSON string that matches, because JSON schemas can require that. */
function expressionConstraint({ source, flags }: RegExp): Constraint {
  if (/[^guvd]/.test(flags)) {
    throw notSupported(`A responseConstraint cannot have the flags "${flags}".`);
  }
  const isAnchored = source.startsWith('^') || /(^|[^\\])\$$/.test(source);
  const pattern = isAnchored ? source : `^(?:${source})$`;
  return {
    options: { jsonSchema: { type: 'string', pattern } },
    instruction: `Answer with a JSON string whose text matches this expression: ${source}`,
    read: jsonStringReader(),
  };
}

const wholeCharacters = /^(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/;

function jsonStringReader(): (written: string) => string {
  let pending = '';
  let isOpen = false;
  return (written) => {
    pending += written;
    if (!isOpen) {
      const opened = pending.trimStart();
      if (!opened.startsWith('"')) return '';
      isOpen = true;
      pending = opened.slice(1);
    }
    const [whole = ''] = wholeCharacters.exec(pending) ?? [];
    pending = pending.slice(whole.length);
    return JSON.parse(`"${whole}"`) as string;
  };
}
