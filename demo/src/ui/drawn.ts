// Views written as templates, for lit-html to draw.
import { render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { oncePerFrame } from './dom.ts';

interface Cause {
  subscribe(listener: () => void): unknown;
}

/** The element with what the template gives inside it, drawn again when one of these changes. */
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
