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
  [part~='thought'] { margin-bottom: 0.5em; opacity: 0.75; font-style: italic; }
  [part~='content'] { --line: color-mix(in srgb, currentColor 30%, transparent); white-space: normal; }
  [part~='content'] > * { margin: 0.75em 0; }
  [part~='content'] > :first-child { margin-top: 0; }
  [part~='content'] > :last-child { margin-bottom: 0; }
  [part~='content'] :is(ul, ol) { padding-inline-start: 1.5em; }
  [part~='content'] li > p { margin: 0.25em 0; }
  [part~='content'] :is(h1, h2, h3, h4, h5, h6) { font-size: 1.1em; line-height: 1.3; }
  [part~='content'] h1 { font-size: 1.4em; }
  [part~='content'] h2 { font-size: 1.25em; }
  [part~='content'] :is(code, pre) { background: color-mix(in srgb, currentColor 9%, transparent); }
  [part~='content'] code { padding: 0.1em 0.3em; border-radius: 0.3em; font-size: 0.9em; }
  [part~='content'] pre code { padding: 0; background: none; font-size: 1em; }
  [part~='content'] pre, [part~='content'] table { overflow-x: auto; max-width: 100%; }
  [part~='content'] pre { padding: 0.6em 0.75em; border-radius: 0.4em; font-size: 0.9em; }
  [part~='content'] table { display: block; border-collapse: collapse; }
  [part~='content'] :is(th, td) { padding: 0.2em 0.5em; border: 1px solid var(--line); overflow-wrap: break-word; }
  [part~='content'] blockquote { margin-inline: 0; padding-inline-start: 0.75em; border-inline-start: 3px solid var(--line); }
  [part~='content'] blockquote > * { margin: 0.25em 0; }
  [part~='content'] hr { border: 0; border-top: 1px solid var(--line); }
  [part~='content'] a { color: LinkText; }
  [part~='progress'] { width: 100%; }
  [part~='status'], [part~='error'] { margin: 0; }
  [part~='error'] { color: var(--kinglet-error-color, light-dark(#b00020, #ff8a80)); }
  [part~='form'] { display: flex; gap: var(--kinglet-gap, 0.5rem); margin: 0; }
  [part~='input'] { flex: 1; min-width: 0; padding: 0.4em; font: inherit; resize: none; field-sizing: content; max-height: 8lh; }
  [part~='button'] { font: inherit; }
`;
