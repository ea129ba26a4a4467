import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import type { Token } from 'marked';

const marked = new Marked({
  gfm: true,
  breaks: true,
  // Tags are shown as text, except <br>, which tables need.
  renderer: { html: ({ text }) => (/^<br *\/?>$/i.test(text) ? '<br>' : escapeHtml(text)) },
});

// No pictures, forms or styles: a model's text must not fetch anything or imitate the page.
const allowedTags = [
  ...['p', 'br', 'hr', 'em', 'strong', 'del', 'code', 'pre', 'blockquote', 'a'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li'],
  ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const allowedAttributes = ['href', 'title', 'start', 'align'];

/**
 * Shows Markdown that grows, such as a model's answer, as elements in the page. Tags in the text are
 * shown as text, and what remains is sanitized: nothing runs, fetches or has a style. Links open in
 * another tab.
 */
export class MarkdownView {
  readonly #element: HTMLElement;
  #blocks: { raw: string; nodes: ChildNode[] }[] = [];

  /** `element` is empty, and only this view changes its children. */
  constructor(element: HTMLElement) {
    this.#element = element;
  }

  /** Shows `text`, the whole of it. Only blocks that have changed are drawn again. */
  update(text: string): void {
    try {
      if (isNestedTooDeeply(text)) this.#showPlain(text);
      else this.#update(text);
    } catch {
      this.#showPlain(text); // nested too deeply for the parser's stack
    }
  }

  #update(text: string): void {
    const tokens = marked.lexer(text);
    const raws = tokens.map(({ raw }) => raw);
    const nSame = raws.findIndex((raw, i) => raw !== this.#blocks[i]?.raw);
    const nKept = nSame < 0 ? raws.length : nSame;
    for (const { nodes } of this.#blocks.splice(nKept)) {
      for (const node of nodes) node.remove();
    }
    for (const token of tokens.slice(nKept)) this.#append(token);
  }

  #showPlain(text: string): void {
    const node = document.createTextNode(text);
    this.#element.replaceChildren(node);
    this.#blocks = [{ raw: text, nodes: [node] }];
  }

  #append(token: Token): void {
    const fragment = DOMPurify.sanitize(marked.parser([token]), {
      ALLOWED_TAGS: allowedTags,
      ALLOWED_ATTR: allowedAttributes,
      RETURN_DOM_FRAGMENT: true,
    });
    for (const link of fragment.querySelectorAll('a')) {
      link.target = '_blank';
      link.rel = 'noopener noreferrer';
    }
    for (const scroller of fragment.querySelectorAll('pre, table')) {
      scroller.setAttribute('tabindex', '0'); // so that keys can scroll it
    }
    this.#blocks.push({ raw: token.raw, nodes: [...fragment.childNodes] });
    this.#element.append(fragment);
  }
}

/**
 * Whether a line begins with twenty markers of quotes and list items. The parser reads the rest of
 * the text again at each level, so a model that repeats such markers would block the page.
 */
function isNestedTooDeeply(text: string): boolean {
  return /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){20}(?![ \t*_-]*$)/m.test(text);
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
