// All conversations, newest first. A conversation is stored as soon as the visitor sends a prompt.
import { showAlert } from '../alert.ts';
import { Remembered } from '../storage/remembered.ts';
import { Observable } from '../ui/observable.ts';
import { conversationId, exchanges, running, startOver, stop } from './conversation.ts';
import { openConversationStore } from './conversation-store.ts';
import type {
  ConversationRecord,
  ConversationStore,
  ExchangeRecord,
} from './conversation-store.ts';
import { Exchange } from './exchange.ts';
import { writer } from './writer.ts';

export const conversations = new Observable<readonly ConversationRecord[]>([]);
/** Whether the conversations will still exist at the next visit. */
export const areKept = new Observable(true);

const lastOpen = new Remembered('kinglet conversation');
const maxTitle = 60;
let store: ConversationStore | undefined;

/** Reads the stored conversations, shows the one that was open, and stores changes from now on. */
export async function openConversations(): Promise<void> {
  store = await openConversationStore();
  areKept.value = store.isKept;
  conversations.value = sorted(await store.all());
  const { value: id } = lastOpen;
  if (id !== undefined) await openConversation(id);
  running.subscribe(keep);
  conversationId.subscribe((open) => {
    lastOpen.value = open;
  });
  // The visitor may close the page in the middle of a long answer.
  document.addEventListener('visibilitychange', keep);
}

export async function openConversation(id: string): Promise<void> {
  const record = conversations.value.find((one) => one.id === id);
  if (!record) return;
  await stop();
  conversationId.value = id;
  exchanges.value = record.exchanges.map((exchange) => Exchange.restore(exchange));
}

export async function renameConversation(id: string, title: string): Promise<void> {
  const record = conversations.value.find((one) => one.id === id);
  if (record && title.trim() !== '') await put({ ...record, title: title.trim() });
}

/** Returns a function that restores the conversation. */
export async function deleteConversation(id: string): Promise<(() => Promise<void>) | undefined> {
  const record = conversations.value.find((one) => one.id === id);
  if (!record) return undefined;
  if (conversationId.value === id) await startOver();
  conversations.value = conversations.value.filter((one) => one.id !== id);
  await store?.remove(id);
  return () => put(record);
}

/** Stores the open conversation if it has changed, and is not just the page's own sample. */
function keep(): void {
  const first = exchanges.value.find(({ isSample }) => !isSample);
  if (!first) return;
  conversationId.value ??= crypto.getRandomValues(new Uint32Array(4)).join('-');
  const id = conversationId.value;
  const before = conversations.value.find((one) => one.id === id);
  const said = exchanges.value.map(({ mode, prompt, pictures, reasoning, text }) => {
    return { mode, prompt, pictures, reasoning, text };
  });
  if (before && isSame(before.exchanges, said)) return;
  void put({
    id,
    title: before?.title ?? titleOf(first),
    changedAt: Date.now(),
    model: writer.value?.name ?? before?.model ?? '',
    exchanges: said,
  });
}

async function put(record: ConversationRecord): Promise<void> {
  const others = conversations.value.filter(({ id }) => id !== record.id);
  conversations.value = sorted([...others, record]);
  try {
    await store?.put(record);
  } catch (error) {
    showAlert('The conversation could not be kept', error);
  }
}

function sorted(records: readonly ConversationRecord[]): ConversationRecord[] {
  return records.toSorted((a, b) => b.changedAt - a.changedAt);
}

function isSame(before: readonly ExchangeRecord[], said: readonly ExchangeRecord[]): boolean {
  const filesOf = ({ pictures = [] }: ExchangeRecord) => pictures.map(({ file }) => file);
  const [old, current] = [before.flatMap(filesOf), said.flatMap(filesOf)];
  return (
    JSON.stringify(before) === JSON.stringify(said) && // does not compare files
    old.every((file, i) => file === current[i])
  );
}

/** The first words of the prompt. */
function titleOf({ prompt, pictures }: Exchange): string {
  const text = prompt.trim().replace(/\s+/g, ' ') || (pictures[0]?.name ?? '');
  return text.length > maxTitle ? `${text.slice(0, maxTitle).trim()} …` : text;
}
