// "[2]" in an answer becomes a link to the passage with that number.
import { h } from '../ui/dom.ts';

/** Numbers in brackets, also a list of them: "[1, 3]". */
const citations = /\[(\d+(?:\s*,\s*\d+)*)\]/g;

/**
 * Makes links of the numbers in an answer as the Markdown view has drawn it, up to `nSources`; others
 * cite nothing. May be called again whenever there is more. `onSource` hears the number of a click.
 */
export function linkCitations(
  answer: HTMLElement,
  nSources: number,
  onSource: (number: number) => void,
): void {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    // What stands at the top is the Markdown view's to take away again.
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
        event.preventDefault(); // no entry of the history
        onSource(number);
      },
    },
    text,
  );
}
