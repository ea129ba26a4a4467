// Where prompts are written: the field, the mode, and the button that sends or stops.
import { byId } from '../ui/dom.ts';
import { canWrite, opened } from '../workspace.ts';
import { exchanges, running, send, startOver, stop } from './conversation.ts';
import type { Mode } from './exchange.ts';

const form = byId('composer', HTMLFormElement);
const prompt = byId('prompt', HTMLTextAreaElement);
const sendButton = byId('send', HTMLButtonElement);
const clear = byId('clear', HTMLButtonElement);
const chat = byId('mode-chat', HTMLInputElement);
const write = byId('mode-write', HTMLInputElement);
const chatLabel = byId('mode-chat-label', HTMLElement);

export function showComposer(): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (running.value) void stop();
    else sendPrompt();
  });
  prompt.addEventListener('keydown', onKey);
  // Escape stops, wherever the focus is.
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && running.value) void stop();
  });
  clear.addEventListener('click', () => {
    void startOver();
    prompt.focus();
  });
  for (const mode of [chat, write]) mode.addEventListener('change', showMode);
  opened.subscribe((model) => {
    const canChat = canWrite(model) && model.kinglet.info.chatTemplate !== undefined;
    chat.disabled = !canChat;
    chatLabel.title = canChat || !model ? '' : 'This model’s file has no chat template';
    chat.checked = canChat;
    write.checked = !canChat;
    showMode();
    showButton();
  });
  running.subscribe(showButton);
  exchanges.subscribe(({ length }) => {
    clear.disabled = length === 0;
  });
}

function sendPrompt(): void {
  const text = prompt.value;
  if (!canWrite(opened.value) || text.trim() === '') return;
  prompt.value = '';
  void send(currentMode(), text);
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  if (event.key === 'Enter' && !event.shiftKey) {
    event.preventDefault();
    if (!running.value) form.requestSubmit();
  } else if (event.key === 'ArrowUp' && prompt.value === '') {
    // As in a shell.
    const last = exchanges.value.at(-1);
    if (!last) return;
    event.preventDefault();
    prompt.value = last.prompt;
  }
}

function currentMode(): Mode {
  return chat.checked ? 'chat' : 'write';
}

function showMode(): void {
  const isVocabulary = opened.value !== undefined && !canWrite(opened.value);
  if (isVocabulary) prompt.placeholder = 'Type a text to see its tokens';
  else
    prompt.placeholder =
      currentMode() === 'chat' ? 'Ask something' : 'Begin a text, and the model goes on with it';
}

function showButton(): void {
  sendButton.textContent = running.value ? 'Stop' : 'Send';
  sendButton.disabled = !canWrite(opened.value);
}
