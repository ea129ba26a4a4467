import DOMPurify from 'dompurify';
import { Marked, Renderer } from 'marked';
import type { Token, Tokens } from 'marked';

/** Whether the text of a link is being drawn. */
let isInLink = false;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // Tags are shown as text, except <br>, which tables need.
    html: ({ text }) => (/^<br *\/?>$/i.test(text) ? '<br>' : escapeHtml(text)),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // A link to the picture, as the text must not fetch anything; a link in a link is not possible.
    image(picture) {
      const { href, tokens } = picture;
      const text = this.parser.parseInline(tokens, this.parser.textRenderer) || href;
      if (isInLink) return escapeHtml(text);
      const words: Tokens.Text = { type: 'text', raw: text, text };
      return htmlOf({ ...picture, type: 'link', text, tokens: [words] }, this);
    },
    link(token) {
      isInLink = true;
      try {
        return htmlOf(token, this);
      } finally {
        isInLink = false;
      }
    },
  },
});

function htmlOf(link: Tokens.Link, renderer: Renderer): string {
  return Renderer.prototype.link.call(renderer, link) as string;
}

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
  #blocks: { raw: string; html: string; nodes: ChildNode[] }[] = [];
  /** The addresses of links that have a name in the text. */
  #addresses = '';

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
    const addresses = JSON.stringify(tokens.links);
    // An address at the end of the text may change blocks that are the same Markdown as before.
    const areSame = addresses === this.#addresses;
    this.#addresses = addresses;
    const nSame = tokens.findIndex((token, i) => {
      const block = this.#blocks[i];
      return token.raw !== block?.raw || !(areSame || marked.parser([token]) === block.html);
    });
    const nKept = nSame < 0 ? tokens.length : nSame;
    for (const { nodes } of this.#blocks.splice(nKept)) {
      for (const node of nodes) node.remove();
    }
    for (const token of tokens.slice(nKept)) this.#append(token);
  }

  #showPlain(text: string): void {
    const node = document.createTextNode(text);
    this.#element.replaceChildren(node);
    this.#blocks = [{ raw: text, html: '', nodes: [node] }];
  }

  #append(token: Token): void {
    const html = marked.parser([token]);
    const fragment = DOMPurify.sanitize(html, {
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
    this.#blocks.push({ raw: token.raw, html, nodes: [...fragment.childNodes] });
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
