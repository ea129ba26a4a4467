// The server that the page came from, where it answers too (`kinglet serve`).
import { Observable } from '../ui/observable.ts';
import { RemoteModel } from './remote-model.ts';

/** Its model, while that is what answers. Then none is open in the page. */
export const server = new Observable<RemoteModel | undefined>(undefined);

/** The API, beside the page. */
export const address = new URL('./v1/', document.baseURI);

/** Whether the page came from one. Asks for nothing that other hosts do not have. */
export async function isFromServer(): Promise<boolean> {
  try {
    const request = { method: 'HEAD', cache: 'no-store' } as const;
    const { headers } = await fetch(location.href, request);
    return headers.has('Kinglet-Server');
  } catch {
    return false; // without a network
  }
}
