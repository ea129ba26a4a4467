// Short ways to make and find elements.

type Attribute = string | boolean | undefined | ((event: never) => void);
type Child = Node | string | undefined | false;

/**
 * Makes an element. Functions become listeners (`onclick`), `true` becomes an empty attribute,
 * `false` none.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.filter(isNode));
  return element;
}

/** Like h(), for SVG elements. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(element, attributes);
  element.append(...children.filter(isNode));
  return element;
}

/** The element of index.html with this id. */
export function byId<T extends Element>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`index.html has no ${type.name} #${id}`);
  return found;
}

/** Makes a button that does not submit its form. */
export function button(
  text: string,
  onclick: (event: MouseEvent) => unknown,
  attributes: Record<string, Attribute> = {},
): HTMLButtonElement {
  return h('button', { type: 'button', class: 'button quiet', ...attributes, onclick }, text);
}

/** Returns a function that calls `paint` in the next frame, at most once per frame. */
export function oncePerFrame(paint: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      paint();
    });
  };
}

function setAttributes(element: Element, attributes: Record<string, Attribute>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
}

function isNode(child: Child): child is Node | string {
  return child !== undefined && child !== false;
}
