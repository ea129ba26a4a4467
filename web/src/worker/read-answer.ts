// Separates an answer into thoughts, text and calls while it is generated.
import type {
  EngineAnswerOptions,
  EngineAnswerPart,
  EngineAnswerReader,
  EngineModule,
} from '#engine';
import type { Piece, ToolCall, ToolCallPiece } from '../types.ts';

export type Said = Pick<Piece, 'text' | 'reasoning' | 'toolCalls'>;

export class AnswerReading {
  /** All calls so far. */
  readonly calls: ToolCall[] = [];
  readonly #reader: EngineAnswerReader;

  constructor(engine: EngineModule, options: EngineAnswerOptions) {
    this.#reader = engine.newAnswerReader(options);
  }

  /** Returns the control tokens that must be part of the answer's text. */
  marks(): string[] {
    return this.#reader.marks();
  }

  push(text: string): Said {
    return this.#said(this.#reader.push(text));
  }

  /** Reads text like push(), but does not return it, because the caller knows it. */
  skip(text: string): void {
    this.#reader.push(text);
  }

  end(): Said {
    return this.#said(this.#reader.end());
  }

  delete(): void {
    this.#reader.delete();
  }

  #said(parts: readonly EngineAnswerPart[]): Said {
    const textOf = (wanted: EngineAnswerPart['kind']) =>
      parts.map(({ kind, text }) => (kind === wanted ? text : '')).join('');
    const reasoning = textOf('thought');
    const toolCalls = this.#callPieces(parts);
    return {
      text: textOf('text'),
      ...(reasoning !== '' && { reasoning }),
      ...(toolCalls.length > 0 && { toolCalls }),
    };
  }

  #callPieces(parts: readonly EngineAnswerPart[]): ToolCallPiece[] {
    const pieces: ToolCallPiece[] = [];
    for (const { kind, text } of parts) {
      if (kind === 'call') {
        this.calls.push({ name: text, arguments: '' });
        pieces.push({ index: this.calls.length - 1, name: text, arguments: '' });
      } else if (kind === 'arguments') {
        const index = this.calls.length - 1;
        const call = this.calls[index];
        if (call) call.arguments += text;
        const last = pieces.at(-1);
        if (last?.index === index) last.arguments += text;
        else pieces.push({ index, arguments: text });
      }
    }
    return pieces;
  }
}
