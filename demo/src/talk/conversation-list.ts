// All conversations, newest first. A conversation is stored as soon as the visitor sends a prompt.
//
// Several tabs may have the same conversation open. Each stores its own turns. A tab that comes too
// late, because another tab has changed or deleted what it shows, stores a second conversation.
import { showAlert, showNotice } from '../alert.ts';
import { Remembered } from '../storage/remembered.ts';
import { Observable } from '../ui/observable.ts';
import { conversationId, exchanges, running, startOver, stop } from './conversation.ts';
import { MemoryStore, openConversationStore } from './conversation-store.ts';
import type {
  Change,
  ConversationRecord,
  ConversationStore,
  ExchangeRecord,
  Update,
} from './conversation-store.ts';
import { Exchange } from './exchange.ts';
import { plainText } from './plain-text.ts';
import { writer } from './writer.ts';

export const conversations = new Observable<readonly ConversationRecord[]>([]);
/** Whether the conversations will still exist at the next visit. */
export const areKept = new Observable(true);

const lastOpen = new Remembered('kinglet conversation');
const maxTitle = 60;
const notKept = 'The conversation could not be kept';
let store: ConversationStore = new MemoryStore();
/** The conversations whose last change is not in the store yet. */
const unsaved = new Set<string>();
/** Ends with the last save. There is only one at a time, as each makes the next one's revision. */
let saving: Promise<void> = Promise.resolve();

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
  await stop();
  const record = await newest(id);
  if (!record) return;
  show(record);
  conversationId.value = id;
  exchanges.value = record.exchanges.map((exchange) => Exchange.restore(exchange));
}

/** Returns the conversation with what other tabs have stored since this tab has read it. */
async function newest(id: string): Promise<ConversationRecord | undefined> {
  await saving;
  const own = find(id);
  if (!own || unsaved.has(id)) return own;
  const stored = await store.get(id).catch(() => undefined);
  return stored ?? own; // another tab may have deleted the stored one
}

export async function renameConversation(id: string, newTitle: string): Promise<void> {
  const record = find(id);
  const title = newTitle.trim();
  if (!record || title === '') return;
  show({ ...record, title });
  // The revision stays: a tab that has the conversation open can go on with it.
  await update('The new name could not be kept', id, (stored) => ({
    ...(stored ?? record),
    title,
  }));
}

/**
 * Returns a function that restores the conversation; undefined if it was not deleted, because
 * another tab has changed it.
 */
export async function deleteConversation(id: string): Promise<(() => Promise<void>) | undefined> {
  if (conversationId.value === id) await startOver();
  await saving;
  const record = find(id);
  if (!record) return undefined;
  const deletion = await update('The conversation could not be deleted', id, (stored) =>
    stored?.revision === record.revision ? undefined : stored,
  );
  if (!deletion) return undefined;
  unsaved.delete(id);
  const { after } = deletion;
  if (after) {
    show(after);
    showNotice(`“${after.title}” was not deleted: another tab has gone on with it.`);
    return undefined;
  }
  replace(id);
  return async () => {
    show(record);
    await update(notKept, id, (stored) => stored ?? record);
  };
}

/** Stores the open conversation if it has changed, and is not just the page's own sample. */
function keep(): void {
  const first = exchanges.value.find(({ isSample }) => !isSample);
  if (!first) return;
  conversationId.value ??= newId();
  const id = conversationId.value;
  const before = find(id);
  const said = exchanges.value.map(({ mode, prompt, pictures, reasoning, text }) => {
    return { mode, prompt, pictures, reasoning, text };
  });
  if (before && isSame(before.exchanges, said)) return;
  show({
    ...{ id, revision: before?.revision },
    title: before?.title ?? titleOf(first),
    changedAt: Date.now(),
    model: writer.value?.name ?? before?.model ?? '',
    exchanges: said,
  });
  unsaved.add(id);
  saving = saving.then(saveAll);
}

async function saveAll(): Promise<void> {
  for (const id of [...unsaved]) await save(id);
}

/** Stores a conversation, under another id if another tab has changed or deleted the stored one. */
async function save(id: string): Promise<void> {
  const record = find(id);
  if (!record) return;
  unsaved.delete(id);
  const revision = newId();
  const saved = await update(notKept, id, (stored) =>
    stored?.revision === record.revision
      ? { ...record, revision, title: stored?.title ?? record.title }
      : { ...record, revision, id: newId(), title: `${record.title} (copy)` },
  );
  if (!saved) {
    unsaved.add(id);
    return;
  }
  // The conversation may have gone on while it was stored.
  const current = find(id) ?? record;
  const { before, after } = saved;
  if (after.id === id) show({ ...current, revision });
  else becomeCopy(current, after, before);
}

/** `stored`: what another tab has stored in the conversation's place. */
function becomeCopy(
  current: ConversationRecord,
  { id, revision, title }: ConversationRecord,
  stored: ConversationRecord | undefined,
): void {
  replace(current.id, { ...current, id, revision, title }, ...(stored ? [stored] : []));
  if (unsaved.delete(current.id)) unsaved.add(id);
  if (conversationId.value === current.id) conversationId.value = id;
  const done = stored ? 'gone on with' : 'deleted';
  showNotice(
    `Another tab has ${done} “${current.title}”. What this tab shows is kept as “${title}”.`,
  );
}

/** Changes the stored record. If that fails, says so, and returns nothing. */
async function update<Result extends ConversationRecord | undefined>(
  failure: string,
  id: string,
  change: Change<Result>,
): Promise<Update<Result> | undefined> {
  try {
    return await store.update(id, change);
  } catch (error) {
    showAlert(failure, error);
    return undefined;
  }
}

function find(id: string): ConversationRecord | undefined {
  return conversations.value.find((one) => one.id === id);
}

function show(record: ConversationRecord): void {
  replace(record.id, record);
}

/** Shows these records in place of the one with the id. */
function replace(id: string, ...records: ConversationRecord[]): void {
  const others = conversations.value.filter((one) => one.id !== id);
  conversations.value = sorted([...others, ...records]);
}

function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
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
  const begin = prompt.trim().slice(0, 10 * maxTitle);
  const text = oneLine(plainText(begin)) || oneLine(begin) || (pictures[0]?.name ?? '');
  return text.length > maxTitle ? `${text.slice(0, maxTitle).trim()} …` : text;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
