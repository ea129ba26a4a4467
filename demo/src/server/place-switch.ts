// The switch between the model in this page and the server's, and the field for the server's key.
import { byId } from '../ui/dom.ts';
import { keyWanted, usePage, useServer } from './place.ts';
import { server } from './server.ts';

const place = byId('place', HTMLFieldSetElement);
const inPage = byId('place-page', HTMLInputElement);
const onServer = byId('place-server', HTMLInputElement);
const keyForm = byId('key-form', HTMLFormElement);
const key = byId('key', HTMLInputElement);

/** `begin` shows what the page begins with if no model was open in it. */
export function showPlaceSwitch(begin: () => Promise<void>): void {
  place.hidden = false;
  inPage.addEventListener('change', () => void usePage(begin));
  onServer.addEventListener('change', () => void useServer().then(showChoice));
  keyForm.addEventListener('submit', (event) => {
    event.preventDefault();
    void useServer(key.value).then(showChoice);
    key.value = '';
  });
  byId('key-cancel', HTMLButtonElement).addEventListener('click', () => void usePage(begin));
  keyWanted.subscribe((why) => {
    keyForm.hidden = why === '';
    byId('key-why', HTMLElement).textContent = why;
    showChoice();
    if (why !== '') key.focus();
  });
  server.subscribe((model) => {
    showChoice();
    byId('server-off', HTMLElement).hidden = !model;
    byId('kept-here', HTMLElement).hidden = model !== undefined;
    for (const panel of ['inspect', 'compare']) {
      const opener = document.querySelector<HTMLButtonElement>(`.tab[data-panel=${panel}]`);
      if (!opener) continue;
      opener.disabled = model !== undefined;
      if (model) opener.setAttribute('aria-describedby', 'server-off');
      else opener.removeAttribute('aria-describedby');
    }
  });
}

function showChoice(): void {
  const isServer = server.value !== undefined || keyWanted.value !== '';
  inPage.checked = !isServer;
  onServer.checked = isServer;
}
