// Addresses on the hub.
import { describe, expect, it } from 'vitest';
import {
  hubFileUrl,
  hubListingUrl,
  hubPathOf,
  isHubAddress,
  parseHubAddress,
} from '../../web/src/hub.ts';
import { KingletError } from '../../web/src/errors.ts';
import { hubAddresses, hubPages, otherPages } from './hub-addresses.ts';

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
