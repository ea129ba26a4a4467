// The side panel, beside the text or over it. Buttons with `data-panel` open it.
import { byId } from '../ui/dom.ts';

export interface Panel {
  title: string;
  /** Whether the panel needs more room than a column of settings. */
  isWide?: boolean;
  /** Makes the content when the panel is first opened. The content is kept. */
  create: () => HTMLElement;
  /** Called when the panel is closed or another panel replaces it. */
  onClose?: () => void;
}

const aside = byId('panel', HTMLElement);
const title = byId('panel-title', HTMLElement);
const body = byId('panel-body', HTMLElement);

const created = new Map<string, HTMLElement>();
let panels: Record<string, Panel> = {};
let current: string | undefined;

export function showPanels(known: Record<string, Panel>): void {
  panels = known;
  for (const opener of openers()) {
    opener.setAttribute('aria-expanded', 'false');
    opener.setAttribute('aria-controls', aside.id);
    opener.addEventListener('click', () => {
      const name = opener.dataset.panel ?? '';
      if (current === name) closePanel();
      else openPanel(name);
    });
  }
  byId('panel-close', HTMLButtonElement).addEventListener('click', closePanel);
  aside.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    closePanel();
  });
}

export function openPanel(name: string): void {
  const panel = panels[name];
  if (!panel) return;
  if (current !== undefined) panels[current]?.onClose?.();
  current = name;
  const content = created.get(name) ?? panel.create();
  created.set(name, content);
  title.textContent = panel.title;
  body.replaceChildren(content);
  aside.classList.toggle('wide', panel.isWide ?? false);
  aside.hidden = false;
  body.scrollTop = 0; // only now: a hidden element keeps its scroll position
  markOpeners();
  title.focus();
}

export function closePanel(): void {
  if (current !== undefined) panels[current]?.onClose?.();
  const opener = openers().find(({ dataset }) => dataset.panel === current);
  current = undefined;
  aside.hidden = true;
  markOpeners();
  // A button in a closed menu cannot take the focus.
  if (opener?.offsetParent) opener.focus();
  else byId('prompt', HTMLElement).focus();
}

function openers(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('button[data-panel]')];
}

function markOpeners(): void {
  for (const opener of openers()) {
    opener.setAttribute('aria-expanded', String(opener.dataset.panel === current));
  }
}
