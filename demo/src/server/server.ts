// The server that the page came from, if that server can also answer prompts (`kinglet serve`).
import { Observable } from '../ui/observable.ts';
import { RemoteModel } from './remote-model.ts';

/** The server's model while it answers prompts. No model is then open in the page. */
export const server = new Observable<RemoteModel | undefined>(undefined);

/** The address of the API, next to the page's. */
export const address = new URL('./v1/', document.baseURI);

/** Whether the page came from such a server. Requests only the page, which every host has. */
export async function isFromServer(): Promise<boolean> {
  try {
    const request = { method: 'HEAD', cache: 'no-store' } as const;
    const { headers } = await fetch(location.href, request);
    return headers.has('Kinglet-Server');
  } catch {
    return false; // without a network
  }
}
