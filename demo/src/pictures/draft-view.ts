// The pictures in the composer, each with a button that removes it.
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { byId } from '../ui/dom.ts';
import { drawn } from '../ui/drawn.ts';
import { draft, removePicture } from './draft.ts';
import type { Picture } from './picture.ts';
import { thumbnail } from './thumbnail.ts';

const list = byId('draft', HTMLElement);
const prompt = byId('prompt', HTMLTextAreaElement);
const images = new WeakMap<Picture, HTMLImageElement>();

export function showDraft(): void {
  drawn(list, () => html`${draft.value.map(item)}`, [draft]);
  draft.subscribe(({ length }) => {
    list.hidden = length === 0;
  });
}

function item(picture: Picture): TemplateResult {
  const image = images.get(picture) ?? thumbnail(picture);
  images.set(picture, image);
  const remove = () => {
    removePicture(picture);
    prompt.focus(); // the button is removed
  };
  return html`<li>
    ${image}
    <button type="button" class="remove" aria-label="Remove ${picture.name}" @click=${remove}>
      ×
    </button>
  </li>`;
}
