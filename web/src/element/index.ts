import { KingletChatElement } from './kinglet-chat.ts';

export { KingletChatElement };
export type { KingletChatAttributes, KingletChatProps } from './jsx.ts';

declare global {
  interface HTMLElementTagNameMap {
    'kinglet-chat': KingletChatElement;
  }
}

// Not on a server, and not if two copies of the package are in one page.
if ('customElements' in globalThis && !customElements.get('kinglet-chat')) {
  customElements.define('kinglet-chat', KingletChatElement);
}
