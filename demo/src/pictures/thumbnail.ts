// Pictures as the page shows them.
import { h } from '../ui/dom.ts';
import type { Picture } from './picture.ts';

export function thumbnail({ name, file }: Picture): HTMLImageElement {
  const src = URL.createObjectURL(file);
  const forget = () => {
    URL.revokeObjectURL(src);
  };
  return h('img', { src, alt: `Picture: ${name}`, onload: forget, onerror: forget });
}

/** The list of a message's pictures. */
export function pictureList(pictures: readonly Picture[]): HTMLElement | undefined {
  if (pictures.length === 0) return undefined;
  const items = pictures.map((picture) => h('li', {}, thumbnail(picture)));
  return h('ul', { class: 'pictures', 'aria-label': 'Pictures of this question' }, ...items);
}
