import { Observable } from './observable.ts';

/** Whether this device has a network, as far as the browser knows. */
export const online = new Observable(navigator.onLine);

for (const change of ['online', 'offline']) {
  addEventListener(change, () => {
    online.value = navigator.onLine;
  });
}
