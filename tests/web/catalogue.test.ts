// The catalogue agrees with the documents.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  chatModels,
  embeddingModels,
  hubPage,
  pictureModels,
  storyModels,
} from '../../dist/catalogue/index.js';
import { root } from './support.ts';

const models = [...chatModels, ...pictureModels, ...storyModels, ...embeddingModels];

it.each(models)('$name is a file on the hub, and one model of its name', ({ name, address }) => {
  expect(address).toMatch(/^hf:[\w.-]+\/[\w.-]+\/.+\.gguf$/);
  expect(hubPage(address)).toMatch(/^https:\/\/huggingface\.co\/[\w.-]+\/[\w.-]+$/);
  expect(models.filter((model) => model.name === name)).toHaveLength(1);
});

it.each([{ listed: chatModels }, { listed: pictureModels }])('lists come by size', ({ listed }) => {
  const sizes = listed.map(({ bytes }) => bytes);
  expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
});

it('the table of models to try has all that chat, search and read pictures', () => {
  const table = readFileSync(join(root, 'docs/models.md'), 'utf8');
  const missing = [...chatModels, ...pictureModels, ...embeddingModels].filter(
    ({ address }) => !table.includes(address),
  );
  expect(missing.map(({ name }) => name)).toEqual([]);
});
