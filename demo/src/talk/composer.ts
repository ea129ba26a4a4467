// The composer of prompts: the field, the mode, and the button that sends or stops.
import { openPanel } from '../panels/panels.ts';
import { addPictures, checkSeeing, draft } from '../pictures/draft.ts';
import { isPicture } from '../pictures/picture.ts';
import { byId } from '../ui/dom.ts';
import { canWrite, opened } from '../workspace.ts';
import { exchanges, running, send, startOver, stop } from './conversation.ts';
import type { Mode } from './conversation-store.ts';
import { writer } from './writer.ts';

const form = byId('composer', HTMLFormElement);
const prompt = byId('prompt', HTMLTextAreaElement);
const sendButton = byId('send', HTMLButtonElement);
const fresh = byId('new', HTMLButtonElement);
const chat = byId('mode-chat', HTMLInputElement);
const write = byId('mode-write', HTMLInputElement);
const chatOff = byId('chat-off', HTMLElement);

export function showComposer(): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (running.value) void stop();
    else sendPrompt();
  });
  prompt.addEventListener('keydown', onKey);
  prompt.addEventListener('paste', onPaste);
  // Escape stops, wherever the focus is.
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && running.value) void stop();
  });
  fresh.addEventListener('click', () => {
    void startOver();
    prompt.focus();
  });
  byId('chat-models', HTMLButtonElement).addEventListener('click', () => {
    openPanel('models');
  });
  draft.subscribe(({ length }) => {
    // A question about a picture is not a text to continue.
    write.disabled = length > 0;
    if (length > 0) chat.checked = true;
    showMode();
  });
  for (const mode of [chat, write]) mode.addEventListener('change', showMode);
  writer.subscribe((by) => {
    const canChat = by?.canChat ?? false;
    chat.disabled = !canChat;
    chatOff.hidden = canChat || !by;
    chat.checked = canChat;
    write.checked = !canChat;
    showMode();
    showButton();
  });
  running.subscribe(showButton);
  exchanges.subscribe(({ length }) => {
    fresh.disabled = length === 0;
  });
}

/** Moves the focus to the prompt, unless it is in an open panel. */
export function focusPrompt(): void {
  if (document.activeElement?.closest('#panel:not([hidden])')) return;
  prompt.focus({ preventScroll: true });
}

function sendPrompt(): void {
  const text = prompt.value;
  const pictures = draft.value;
  if (!writer.value || (text.trim() === '' && pictures.length === 0)) return;
  if (pictures.length > 0 && !checkSeeing()) return;
  prompt.value = '';
  draft.value = [];
  void send(currentMode(), text, pictures);
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  if (event.key === 'Enter' && !event.shiftKey) {
    event.preventDefault();
    if (!running.value) form.requestSubmit();
  } else if (event.key === 'ArrowUp' && prompt.value === '') {
    // As in a shell: brings back the last prompt.
    const last = exchanges.value.at(-1);
    if (!last) return;
    event.preventDefault();
    prompt.value = last.prompt;
  }
}

/** Takes pasted pictures, but not beside a text: office programs add a picture of copied text. */
function onPaste(event: ClipboardEvent): void {
  const { clipboardData: data } = event;
  const pictures = [...(data?.files ?? [])].filter(isPicture);
  if (pictures.length === 0 || data?.getData('text/plain')) return;
  event.preventDefault();
  void addPictures(pictures);
}

function currentMode(): Mode {
  return chat.checked ? 'chat' : 'write';
}

function showMode(): void {
  const isVocabulary = opened.value !== undefined && !canWrite(opened.value);
  if (isVocabulary) prompt.placeholder = 'Type a text to see its tokens';
  else prompt.placeholder = currentMode() === 'chat' ? 'Ask something' : 'Begin a text';
}

function showButton(): void {
  sendButton.textContent = running.value ? 'Stop' : 'Send';
  sendButton.disabled = !writer.value;
}
