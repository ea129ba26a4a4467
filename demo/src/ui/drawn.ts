// Views that are lit-html templates.
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
  const draw = () => render(template(), element);
  const later = oncePerFrame(draw);
  for (const cause of causes) cause.subscribe(later);
  draw();
  return element;
}
