// Views that are painted again after changes of what they show.
import { render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { oncePerFrame } from './dom.ts';

interface Cause {
  subscribe(listener: () => void): unknown;
}

/** Draws the template into the element, again after each change of a cause. Returns the element. */
export function drawn<E extends HTMLElement>(
  element: E,
  template: () => TemplateResult,
  causes: readonly Cause[],
): E {
  keepPainted(() => render(template(), element), causes);
  return element;
}

/**
 * Paints now, and in the next frame after each change of a cause. Returns a function that asks for
 * another paint in the next frame.
 */
export function keepPainted(paint: () => void, causes: readonly Cause[]): () => void {
  const later = oncePerFrame(paint);
  for (const cause of causes) cause.subscribe(later);
  paint();
  return later;
}
