// Reads the text of a file: plain text, Markdown, HTML or PDF.
import { KingletError, messageOf } from '../errors.ts';
import { checkOptions } from '../options.ts';

export interface ReadText {
  text: string;
  /** Where pages begin, in UTF-16 units of the text, if the file has pages. */
  pages?: readonly number[];
}

export interface ReadTextOptions {
  /** The module `pdfjs-dist` (in Node `pdfjs-dist/legacy/build/pdf.mjs`), which reads PDF. */
  pdfjs?: Pdfjs | undefined;
}

/** The part of pdf.js that is used here. */
export interface Pdfjs {
  getDocument(source: { data: Uint8Array }): {
    promise: Promise<PdfDocument>;
    destroy(): Promise<void>;
  };
}

/** A document as pdf.js reads it. */
export interface PdfDocument {
  readonly numPages: number;
  getPage(number: number): Promise<{
    /** Texts have `str` and `hasEOL`; other items have neither. */
    getTextContent(): Promise<{ items: readonly object[] }>;
  }>;
}

/**
 * Returns the text of a file. HTML needs a page's document.
 *
 * @throws KingletError: `unsupported_type` (not a text), `unsupported_environment` (HTML without a
 * document, PDF without `pdfjs`), `corrupt` (a PDF that pdf.js cannot read).
 */
export async function readText(file: Blob, options: ReadTextOptions = {}): Promise<ReadText> {
  checkOptions(options, ['pdfjs']);
  checkPdfjs(options.pdfjs);
  const bytes = new Uint8Array(await checkedBlob(file).arrayBuffer());
  if (isPdf(bytes)) return readPdf(bytes, options.pdfjs);
  const text = decode(bytes);
  if (text === undefined) {
    throw new KingletError('unsupported_type', 'the file does not contain text');
  }
  return { text: isHtml(file, text) ? textOfHtml(text) : text };
}

/** Whether a file is plain text, Markdown or HTML, judged by its beginning. */
export async function isText(file: Blob): Promise<boolean> {
  const judged = checkedBlob(file).slice(0, judgedBytes);
  return decode(new Uint8Array(await judged.arrayBuffer())) !== undefined;
}

/** @throws KingletError `invalid_argument` */
export function checkPdfjs(pdfjs: unknown): void {
  const { getDocument } = (pdfjs ?? {}) as Partial<Pdfjs>;
  if (pdfjs === undefined || typeof getDocument === 'function') return;
  throw new KingletError('invalid_argument', 'pdfjs must be the module pdfjs-dist');
}

/** Not `instanceof`: it may come from another frame. */
export function isBlob(value: unknown): value is Blob {
  return /^\[object (?:Blob|File)\]$/.test(Object.prototype.toString.call(value));
}

function checkedBlob(file: unknown): Blob {
  if (isBlob(file)) return file;
  throw new KingletError('invalid_argument', 'the file must be a Blob or File');
}

/** The page, from 1, of a place in the text; undefined without pages. */
export function pageAt(pages: readonly number[] | undefined, place: number): number | undefined {
  if (!pages) return undefined;
  const next = pages.findIndex((begin) => begin > place);
  return next < 0 ? pages.length : next;
}

const judgedBytes = 4096;

/** Decodes a text; undefined if the bytes are not a text. */
function decode(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  const [a, b] = bytes;
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (a === 0xfe && b === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes.subarray(0, judgedBytes).some(isOfNoText)) return undefined;
  if (isPdf(bytes)) return undefined;
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

function isPdf(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(0, 5)) === '%PDF-';
}

async function readPdf(data: Uint8Array, pdfjs: Pdfjs | undefined): Promise<ReadText> {
  if (!pdfjs) {
    throw new KingletError(
      'unsupported_environment',
      'reading a PDF needs pdf.js: pass the module pdfjs-dist as the option `pdfjs`',
    );
  }
  const loading = pdfjs.getDocument({ data });
  try {
    const pdf = await loading.promise;
    const pages: number[] = [];
    let text = '';
    for (let number = 1; number <= pdf.numPages; ++number) {
      pages.push(text.length);
      const page = await pdf.getPage(number);
      for (const item of (await page.getTextContent()).items) {
        const { str = '', hasEOL } = item as { str?: string; hasEOL?: boolean };
        text += hasEOL ? `${str}\n` : str;
      }
      text += '\n\n';
    }
    return { text, pages };
  } catch (error) {
    throw new KingletError('corrupt', `the PDF cannot be read: ${messageOf(error)}`);
  } finally {
    await loading.destroy();
  }
}

function isHtml(file: Blob, text: string): boolean {
  const name = file instanceof File ? file.name : '';
  const isNamed = file.type === 'text/html' || /\.x?html?$/i.test(name);
  return isNamed || /^\s*<!doctype html/i.test(text);
}

const unseen = 'title, script, style, noscript, template, svg, nav, [hidden]';
const blocks =
  'p, div, li, br, hr, tr, caption, pre, blockquote, address, main, aside, section, article, header, footer, ' +
  'figure, figcaption, table, ul, ol, dl, dt, dd, details, summary, dialog, form, fieldset, legend, option';

/** White space of <pre>, and what stands for it while that of other elements is removed. */
const spaces = ' \t\n';
const kept = '\u{e000}\u{e001}\u{e002}';
const keptSpaces = /[\u{e000}-\u{e002}]/gu;

/** The page's content security policy allows no style attributes, and would report each of them. */
function withoutStyles(html: string): string {
  return html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/\bstyle\s*=/gi, 'data-style='));
}

/** The visible text of a page, with a blank line between blocks. Nothing is run or fetched. */
function textOfHtml(html: string): string {
  if (typeof document === 'undefined') {
    throw new KingletError(
      'unsupported_environment',
      'reading HTML needs the document of a page; pass its text instead',
    );
  }
  const { content } = Object.assign(document.createElement('template'), {
    innerHTML: withoutStyles(html),
  });
  for (const element of content.querySelectorAll(unseen)) element.remove();
  for (const element of content.querySelectorAll('[data-style]')) {
    if (/display\s*:\s*none/i.test(element.getAttribute('data-style') ?? '')) element.remove();
  }
  // Line breaks and spaces in HTML source mean nothing, except in <pre>.
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.nodeValue ?? '';
    node.nodeValue = node.parentElement?.closest('pre')
      ? text.replace(/\s/g, (space) => kept[spaces.indexOf(space)] ?? ' ')
      : text.replace(/\s+/g, ' ');
  }
  for (const heading of content.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    heading.before('\n\n', '#'.repeat(Number(heading.tagName[1])), ' ');
    heading.after('\n\n');
  }
  for (const block of content.querySelectorAll(blocks)) {
    block.before('\n\n');
    block.after('\n\n');
  }
  for (const cell of content.querySelectorAll('td, th')) cell.after(' ');
  return content.textContent
    .replace(/[ \t]*\n[ \t]*/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
    .replace(keptSpaces, (space) => spaces[kept.indexOf(space)] ?? '');
}
