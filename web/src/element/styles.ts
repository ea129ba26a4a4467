/** The styles of {@link KingletChatElement}. What a page may change is a part or a custom property. */
export const styles = `
  :host {
    display: flex;
    flex-direction: column;
    gap: var(--kinglet-gap, 0.5rem);
    min-height: 12rem;
  }
  :host([hidden]), [hidden] { display: none; }
  [part~='log'] { flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; }
  [part~='message'] {
    box-sizing: border-box;
    width: fit-content;
    max-width: 85%;
    margin: 0 0 var(--kinglet-gap, 0.5rem);
    padding: 0.5em 0.75em;
    border-radius: var(--kinglet-radius, 0.75em);
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  [part~='user'] {
    margin-inline-start: auto;
    color: var(--kinglet-user-color, CanvasText);
    background: var(--kinglet-user-background, color-mix(in srgb, CanvasText 12%, Canvas));
  }
  [part~='assistant'] {
    color: var(--kinglet-assistant-color, CanvasText);
    background: var(--kinglet-assistant-background, color-mix(in srgb, CanvasText 4%, Canvas));
  }
  [part~='speaker'] { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  [part~='thought'] { opacity: 0.75; font-style: italic; }
  [part~='content'] { white-space: normal; }
  [part~='content'] > * { margin: 0.5em 0; }
  [part~='content'] > :first-child { margin-top: 0; }
  [part~='content'] > :last-child { margin-bottom: 0; }
  [part~='content'] :is(ul, ol) { padding-inline-start: 1.5em; }
  [part~='content'] :is(h1, h2, h3, h4, h5, h6) { font-size: 1.1em; }
  [part~='content'] pre, [part~='content'] table { overflow-x: auto; max-width: 100%; }
  [part~='content'] pre { padding: 0.5em; border-radius: 0.4em; background: color-mix(in srgb, CanvasText 8%, Canvas); }
  [part~='content'] table { display: block; border-collapse: collapse; }
  [part~='content'] :is(th, td) { padding: 0.2em 0.5em; border: 1px solid color-mix(in srgb, CanvasText 30%, Canvas); }
  [part~='content'] blockquote { margin-inline: 0; padding-inline-start: 0.75em; border-inline-start: 3px solid; }
  [part~='content'] a { color: LinkText; }
  [part~='progress'] { width: 100%; }
  [part~='status'], [part~='error'] { margin: 0; }
  [part~='error'] { color: var(--kinglet-error-color, light-dark(#b00020, #ff8a80)); }
  [part~='form'] { display: flex; gap: var(--kinglet-gap, 0.5rem); margin: 0; }
  [part~='input'] { flex: 1; min-width: 0; padding: 0.4em; font: inherit; resize: none; field-sizing: content; max-height: 8lh; }
  [part~='button'] { font: inherit; }
`;
