// "[2]" in an answer becomes a link to the passage with that number.
import { h } from '../ui/dom.ts';

/** Numbers in brackets: "[2]", or a list like "[1, 3]". */
const citations = /\[(\d+(?:\s*,\s*\d+)*)\]/g;

/**
 * Turns the citations in an answer that the Markdown view has drawn into links. Numbers above
 * `nSources` cite nothing and stay text. May be called again whenever the answer has grown.
 * `onSource` is called with the number of a clicked link.
 */
export function linkCitations(
  answer: HTMLElement,
  nSources: number,
  onSource: (number: number) => void,
): void {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    // The Markdown view removes the answer's direct children itself, so they must stay.
    const isFree = node.parentElement !== answer && !node.parentElement?.closest('a, pre, code');
    if (isFree && node instanceof Text && node.data.includes('[')) found.push(node);
  }
  for (const node of found) {
    const parts = withLinks(node.data, nSources, onSource);
    if (parts.length > 1) node.replaceWith(...parts);
  }
}

function withLinks(
  text: string,
  nSources: number,
  onSource: (number: number) => void,
): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(citations)) {
    const numbers = (match[1] ?? '').split(',').map(Number);
    if (numbers.some((number) => number < 1 || number > nSources)) continue;
    parts.push(text.slice(end, match.index));
    parts.push(...numbers.map((number) => sourceLink(number, `[${String(number)}]`, onSource)));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

export function sourceLink(
  number: number,
  text: string,
  onSource: (number: number) => void,
): HTMLElement {
  return h(
    'a',
    {
      href: `#passage-${String(number)}`,
      class: 'citation',
      onclick: (event: MouseEvent) => {
        event.preventDefault(); // adds no entry to the history
        onSource(number);
      },
    },
    text,
  );
}
