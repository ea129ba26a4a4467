import { useEffect, useState, useSyncExternalStore } from 'react';
import { Chat } from '../chat.ts';
import type { ChatSetup, ChatState } from '../chat.ts';
import type { ModelSource } from '../types.ts';

/** What {@link useKinglet} returns: the state to show, and the functions that change it. */
export type UsedKinglet = ChatState & Pick<Chat, 'ask' | 'stop' | 'clear'>;

/**
 * Loads a model while a component is mounted, and has a conversation with it. The component renders
 * again whenever the state changes; the functions stay the same. Another source loads another model,
 * after the first one is freed; undefined loads none. A source that is an object or a list must be the
 * same one at each render, so keep it outside of the component, in its state or with `useMemo`.
 *
 * `setup` may differ from render to render: questions are answered with the one of the latest.
 */
export function useKinglet(
  source: ModelSource | readonly ModelSource[] | undefined,
  setup: ChatSetup = {},
): UsedKinglet {
  const [chat] = useState(() => new Chat(setup));
  useEffect(() => {
    chat.setup = setup;
  });
  // In StrictMode this runs, ends and runs again; load() follows dispose() then.
  useEffect(() => {
    if (source !== undefined) void chat.load(source);
    return chat.dispose;
  }, [chat, source]);
  const state = useSyncExternalStore(chat.subscribe, chat.getState, chat.getState);
  const { ask, stop, clear } = chat;
  return { ...state, ask, stop, clear };
}
