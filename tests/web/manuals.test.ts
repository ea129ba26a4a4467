// The manuals explain every error code, and their links lead to existing files and headings.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../web/src/errors.ts';

const root = resolve(import.meta.dirname, '../..');
const manuals = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md'].concat(
  ['docs', 'docs/measurements'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
);

/** Returns the anchors that GitHub makes of headings, and those that the text defines by itself. */
function anchors(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const written = [...markdown.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id);
  return new Set([...headings, ...written]);
}

describe.each(manuals)('%s', (manual) => {
  const markdown = readFileSync(join(root, manual), 'utf8');

  it('links to files and headings that exist', () => {
    const prose = markdown.replaceAll(/```[^]*?```/g, '');
    const links = [...prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    for (const [link, path = '', anchor] of links) {
      const file = path === '' ? join(root, manual) : join(root, dirname(manual), path);
      expect(existsSync(file), link).toBe(true);
      if (anchor !== undefined) expect(anchors(readFileSync(file, 'utf8')), link).toContain(anchor);
    }
  });
});

it('says of each error code what to do', () => {
  const troubleshooting = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const told = [...troubleshooting.matchAll(/^(?:###|\|).*$/gm)].join('\n');
  for (const code of Object.keys(errorCodes)) expect(told).toContain(`\`${code}\``);
});
