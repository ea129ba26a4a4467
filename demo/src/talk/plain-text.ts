/** Markers around words. Inside words and next to spaces they are themselves: 2 * 3, snake_case, **kwargs. */
const pair = /(?<![\p{L}\p{N}\\])(\*{1,3}|_{1,3}|~~|`+)(?=\S)(.*?\S)\1(?![\p{L}\p{N}])/gu;

/** Returns the words of a Markdown text, without its marks. Numbers of lists and line breaks stay. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/^ {0,3}(?:```|~~~).*$/gm, '') // fences of code
    .replace(/^(?:[ \t]*(?:>|#{1,6}(?=[ \t])|[-*+](?=[ \t])))+[ \t]*/gm, '')
    .replace(/!?\[([^\]\n]*)\]\([^()\s]*(?: "[^"\n]*")?\)/g, '$1')
    .replace(pair, '$2')
    .replace(pair, '$2') // those inside, such as **_this_**
    .replace(/\\([!-/:-@[-`{-~])/g, '$1');
}
