// Chrome's Prompt API for a model that the page chooses.
export { installPromptApi, languageModelClass } from './language-model.ts';
export type { LanguageModelStatic } from './language-model.ts';
export type { PromptSession } from './session.ts';
export type * from './types.ts';
