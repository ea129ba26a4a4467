// `<kinglet-chat>` in JSX. Vue needs no types for it.
/* eslint-disable @typescript-eslint/ban-ts-comment, @typescript-eslint/no-namespace --
   a project may have neither framework, and this is how types are added to them */
/** @ts-ignore: a project may have no React */
import type { JSX as ReactJsx } from 'react';
/** @ts-ignore: a project may have no Preact */
import type { JSX as PreactJsx } from 'preact';
import type { KingletChatElement } from './kinglet-chat.ts';

/** The attributes of `<kinglet-chat>` that other elements lack. */
export interface KingletChatAttributes {
  model?: string | undefined;
  system?: string | undefined;
  'max-tokens'?: number | string | undefined;
  temperature?: number | string | undefined;
  placeholder?: string | undefined;
  ref?:
    | { current: KingletChatElement | null }
    | ((element: KingletChatElement | null) => unknown)
    | null
    | undefined;
}

/** `Elements`: all that the framework knows. An `article` has the attributes of every element. */
export type KingletChatProps<Elements> = KingletChatAttributes &
  ('article' extends keyof Elements
    ? Omit<Elements['article'], keyof KingletChatAttributes>
    : unknown);

/** @ts-ignore: a project may have no React */
declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'kinglet-chat': KingletChatProps<ReactJsx.IntrinsicElements>;
    }
  }
}

/** @ts-ignore: a project may have no Preact */
declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'kinglet-chat': KingletChatProps<PreactJsx.IntrinsicElements>;
    }
  }
}
