// Chrome's Prompt API, answered by a model of the page's own.
export { installPromptApi, languageModelClass } from './language-model.ts';
export type { LanguageModelStatic } from './language-model.ts';
export type { PromptSession } from './session.ts';
export type * from './types.ts';
