// Addresses on the hub, and the choice of a file of a repository.
import { describe, expect, it } from 'vitest';
import {
  hubFileUrl,
  hubListingUrl,
  hubPathOf,
  hubPaths,
  isHubAddress,
  parseHubAddress,
  pickFile,
  pickReader,
} from '../../web/src/hub.ts';
import { KingletError } from '../../web/src/errors.ts';
import { hubAddresses, hubPages, otherPages, plainlessPaths } from './hub-addresses.ts';

const base = 'https://huggingface.co';

describe('an address', () => {
  it('names a file, a type, or a repository', () => {
    const repository = { base, name: 'a/b-GGUF', revision: 'main' };
    expect(parseHubAddress('hf:a/b-GGUF/c/d.gguf', {})).toEqual({ repository, path: 'c/d.gguf' });
    expect(parseHubAddress('hf:a/b-GGUF:Q4_K_M', {})).toEqual({ repository, type: 'Q4_K_M' });
    expect(parseHubAddress('hf://a/b-GGUF', {})).toEqual({ repository, type: '' });
    const other = { base: 'http://mirror', name: 'a/b', revision: 'refs/pr/1' };
    const options = { hubBase: 'http://mirror/' };
    expect(parseHubAddress('hf:a/b@refs%2Fpr%2F1:F16', options)).toEqual({
      ...{ repository: other, type: 'F16' },
    });
    expect(hubFileUrl(other, 'c/d e.gguf')).toBe(
      'http://mirror/a/b/resolve/refs%2Fpr%2F1/c/d%20e.gguf',
    );
    expect(hubPathOf(other, hubFileUrl(other, 'c/d e.gguf'))).toBe('c/d e.gguf');
    expect(hubPathOf(repository, hubFileUrl(other, 'c.gguf'))).toBeUndefined();
    expect(hubListingUrl(repository)).toBe(`${base}/api/models/a/b-GGUF/revision/main`);
  });
});

describe('the address of a page', () => {
  it.each(Object.entries(hubPages))('%s is %s', (page, address) => {
    expect(isHubAddress(page)).toBe(true);
    expect(parseHubAddress(page, {})).toEqual(parseHubAddress(address, {}));
  });

  it.each([...otherPages, 'https://huggingface.co/owner/repo/resolve/main/m.gguf?download=true'])(
    '%s stays as it is',
    (page) => {
      expect(isHubAddress(page)).toBe(false);
    },
  );
});

describe('an address that leads elsewhere or controls a terminal', () => {
  it.each(hubAddresses.refused)('%j is refused', (address) => {
    expect(() => parseHubAddress(address, {})).toThrow(KingletError);
    expect(() => parseHubAddress(address, {})).toThrow(/^".*" is not of the form hf:owner\/repo/);
  });

  it('is refused in linear time', () => {
    for (const address of [`hf:${'a'.repeat(1e6)}`, `hf:a/b@${'%2F'.repeat(3e5)}`]) {
      expect(() => parseHubAddress(address, {})).toThrow(KingletError);
    }
    expect(parseHubAddress(`hf:${'a'.repeat(1e6)}/b`, {})).toMatchObject({ type: '' });
  });
});

describe('the answer of the hub', () => {
  it('lists paths', () => {
    expect(hubPaths({ siblings: [{ rfilename: 'a' }, {}, { rfilename: 5 }] })).toEqual(['a']);
    const siblings = [null, 'a', { rfilename: 'b/c..d.gguf' }];
    expect(hubPaths({ siblings })).toEqual(['b/c..d.gguf']);
    for (const path of plainlessPaths) {
      expect(hubPaths({ siblings: [{ rfilename: path }] })).toEqual([]);
    }
    for (const other of [null, 5, [], {}, { siblings: 'a' }]) {
      expect(hubPaths(other)).toBeUndefined();
    }
  });
});

describe('the file of a type', () => {
  const files = [
    ...['config.json', 'x-Q2_K.gguf', 'x-Q4_K_M.gguf', 'x-UD-Q4_K_M.gguf', 'x.IQ4_XS.gguf'],
    ...['x-Q8_0-00001-of-00002.gguf', 'x-Q8_0-00002-of-00002.gguf', 'mmproj-x-F16.gguf'],
    ...['imatrix_Q6_K.gguf', 'BF16/x-BF16.gguf'],
  ];
  it.each([
    ['Q4_K_M', 'x-Q4_K_M.gguf'],
    ['q4_k_m', 'x-Q4_K_M.gguf'],
    ['UD-Q4_K_M', 'x-UD-Q4_K_M.gguf'],
    ['IQ4_XS', 'x.IQ4_XS.gguf'],
    ['Q8_0', 'x-Q8_0-00001-of-00002.gguf'],
    ['BF16', 'BF16/x-BF16.gguf'],
    ['', 'x-Q4_K_M.gguf'],
  ])('%s', (type, path) => {
    expect(pickFile(files, type, 'a/b')).toBe(path);
  });

  it('is a whole file that has the name of a later part', () => {
    const later = 'x-Q8_0-00002-of-00002.gguf';
    expect(pickFile([later], 'Q8_0', 'a/b')).toBe(later);
    expect(pickFile([later, 'x-Q8_0-00001-of-00002.gguf'], 'Q8_0', 'a/b')).toMatch(/00001-of/);
    const noPart = 'x-Q8_0-00003-of-00002.gguf';
    expect(pickFile([noPart], 'Q8_0', 'a/b')).toBe(noPart);
  });

  it('is the only one where no type is named', () => {
    expect(pickFile(['README.md', 'model.gguf'], '', 'a/b')).toBe('model.gguf');
  });

  it.each([
    [files, 'F16', /^a\/b has no such file for a model of type F16; name one of: x-Q2_K\.gguf, /],
    [files, 'Q4', /no such file/],
    [['a-Q8_0.gguf', 'b-Q8_0.gguf'], 'Q8_0', /several files .* a-Q8_0\.gguf, b-Q8_0\.gguf$/],
    [['a-F16.gguf', 'b-F16.gguf'], '', /no such file for a model;/],
    [['README.md'], '', /no GGUF file$/],
  ])('is not guessed: %j, %s', (paths, type, message) => {
    expect(() => pickFile(paths, type, 'a/b')).toThrow(message);
  });
});

describe('what reads pictures', () => {
  const file = (type: string) => `mmproj-x-${type}.gguf`;
  it.each([
    [['x-Q8_0.gguf', file('F16'), file('Q8_0'), file('BF16')], '', file('Q8_0')],
    [['x-Q8_0.gguf', file('F32'), file('f16')], '', file('f16')],
    [['x-Q8_0.gguf', 'a/mmproj.gguf'], '', 'a/mmproj.gguf'],
    [[file('F16'), file('BF16')], 'BF16', file('BF16')],
  ])('is chosen: %j, %s', (paths, type, path) => {
    expect(pickReader(paths, type, 'a/b')).toBe(path);
  });

  it.each([
    [['x-Q8_0.gguf'], '', /a\/b has no mmproj file/],
    [[file('F32'), file('BF16')], '', /does not show .* mmproj-x-F32\.gguf, mmproj-x-BF16/],
    [[file('F32')], 'Q8_0', /set the option mmproj to one of: mmproj-x-F32/],
  ])('is not guessed: %j, %s', (paths, type, message) => {
    expect(() => pickReader(paths, type, 'a/b')).toThrow(message);
  });
});
