// Exports a conversation to a file, for readers (Markdown) or for other programs (JSON).
import { dataUrl, scaled } from '../pictures/picture.ts';
import type { Picture } from '../pictures/picture.ts';
import { h } from '../ui/dom.ts';
import type { ConversationRecord, ExchangeRecord } from './conversation-store.ts';

/** The most pixels per side of a picture in Markdown. */
const shownSide = 320;

export async function asMarkdown(record: ConversationRecord): Promise<string> {
  const { title, model, changedAt, exchanges } = record;
  const date = new Date(changedAt).toISOString().slice(0, 10);
  const parts = await Promise.all(exchanges.map((exchange) => exchangeAsMarkdown(exchange, model)));
  return `# ${title}\n\n${[`${model}, ${date}`, ...parts].join('\n\n')}\n`;
}

async function exchangeAsMarkdown(
  { mode, prompt, pictures = [], reasoning, text }: ExchangeRecord,
  model: string,
): Promise<string> {
  if (mode === 'write') return `---\n\n${prompt}${text}`;
  const thoughts = reasoning.trim() === '' ? [] : [reasoning.trim().replace(/^/gm, '> ')];
  const shown = await Promise.all(pictures.map(pictureAsMarkdown));
  return ['## You', ...shown, prompt, `## ${model}`, ...thoughts, text.trim()].join('\n\n');
}

/** Returns a small picture; only its name if the file cannot be read any more. */
async function pictureAsMarkdown({ name, file }: Picture): Promise<string> {
  const text = name.replace(/[[\]\\]/g, '\\$&');
  try {
    const bitmap = await createImageBitmap(file);
    const url = await dataUrl(await scaled(bitmap, shownSide));
    bitmap.close();
    return `![${text}](${url})`;
  } catch {
    return `[picture: ${text}]`;
  }
}

/** Returns the conversation as JSON, with the complete pictures as data URLs. */
export async function asJson(record: ConversationRecord): Promise<string> {
  const { title, model, changedAt } = record;
  const changed = new Date(changedAt).toISOString();
  const exchanges = await Promise.all(
    record.exchanges.map(async ({ pictures = [], ...said }) => {
      if (pictures.length === 0) return said;
      const files = await Promise.all(pictures.map(({ file }) => dataUrl(file)));
      return { ...said, pictures: pictures.map(({ name }, i) => ({ name, url: files[i] })) };
    }),
  );
  return `${JSON.stringify({ title, model, changed, exchanges }, undefined, 2)}\n`;
}

/** Downloads the text to a file that is named after the conversation. */
export function saveFile({ title }: ConversationRecord, extension: string, text: string): void {
  const name = title.replace(/[^\p{L}\p{N}]+/gu, ' ').trim() || 'conversation';
  const href = URL.createObjectURL(new Blob([text]));
  h('a', { href, download: `${name}.${extension}` }).click();
  // Safari reads the URL a moment later.
  setTimeout(() => {
    URL.revokeObjectURL(href);
  }, 60_000);
}
