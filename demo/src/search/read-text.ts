// Reads the text of a file.

/** @throws Error with a message for the visitor if the file is not a text. */
export async function readText(file: File): Promise<string> {
  const text = decode(new Uint8Array(await file.arrayBuffer()));
  if (text === undefined) throw new Error('the file does not contain text');
  return isHtml(file, text) ? textOfHtml(text) : text;
}

const judgedBytes = 4096;

/** Whether a file is a text, judged by its beginning. */
export async function isText(file: File): Promise<boolean> {
  return decode(new Uint8Array(await file.slice(0, judgedBytes).arrayBuffer())) !== undefined;
}

/** Decodes a text; undefined if the bytes are not a text. */
export function decode(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  const [a, b] = bytes;
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (a === 0xfe && b === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes.subarray(0, judgedBytes).some(isOfNoText)) return undefined;
  if (new TextDecoder('latin1').decode(bytes.subarray(0, 5)) === '%PDF-') return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes); // written by older editors
  }
}

/** Whether a byte is a control character that texts do not have. */
function isOfNoText(byte: number): boolean {
  return byte < 8 || (byte > 13 && byte < 26);
}

function isHtml({ name, type }: File, text: string): boolean {
  return type === 'text/html' || /\.x?html?$/i.test(name) || /^\s*<!doctype html/i.test(text);
}

const unseen = 'title, script, style, noscript, template, svg, nav';
const blocks =
  'p, div, li, br, tr, pre, blockquote, section, article, header, footer, figure, table, ul, ol, dl, dt, dd';

/** The page's content security policy allows no style attributes, and would report each of them. */
function withoutStyles(html: string): string {
  return html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/\bstyle\s*=/gi, 'data-style='));
}

/** The visible text of a page, with a blank line between blocks. Nothing is run or fetched. */
function textOfHtml(html: string): string {
  const { content } = Object.assign(document.createElement('template'), {
    innerHTML: withoutStyles(html),
  });
  for (const element of content.querySelectorAll(unseen)) element.remove();
  // Line breaks in HTML source mean nothing.
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement?.closest('pre'))
      node.nodeValue = node.nodeValue?.replace(/\s+/g, ' ') ?? '';
  }
  for (const heading of content.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    heading.before('\n\n', '#'.repeat(Number(heading.tagName[1])), ' ');
    heading.after('\n\n');
  }
  for (const block of content.querySelectorAll(blocks)) {
    block.before('\n\n');
    block.after('\n\n');
  }
  return content.textContent
    .replace(/[ \t]*\n[ \t]*/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
