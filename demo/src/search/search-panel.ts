// The panel that searches the visitor's texts by meaning.
import type { Panel } from '../panels/panels.ts';
import { showMessage } from '../ui/closable.ts';
import { h } from '../ui/dom.ts';
import { chooseRemembered, trouble } from './desk.ts';
import { modelView } from './model-view.ts';
import { ResultsView } from './results-view.ts';
import { textsView } from './texts-view.ts';

export const searchPanel: Panel = {
  title: 'Search your texts',
  isWide: true,
  create: () => {
    const alert = h('div', { id: 'search-alert', role: 'alert' });
    trouble.subscribe((message) => {
      showMessage(alert, message, () => {
        trouble.value = undefined;
      });
    });
    void chooseRemembered();
    // First what a visitor comes back for, then what may just have been dropped.
    const parts = [new ResultsView().element, textsView(), modelView()];
    return h('div', { class: 'search' }, alert, ...parts);
  },
};
