import { describe, expect, test } from '@jest/globals';
import { EndpointError, endpointUrls } from './endpoint-urls.ts';

const own = 'https://shard-1.example:7443';
const other = 'https://shard-2.example:7443';

const at = (...urls: string[]): object => ({ endpoints: urls.map((url) => ({ url })) });
const found = (status: unknown, { base = own, allowsExternal = false } = {}): string[] => {
  const { urls, isExternal } = endpointUrls(status, { own: base, others: [other], allowsExternal });
  return [...urls.map(({ href }) => href), ...(isExternal ? ['external'] : [])];
};

describe('the endpoints of a virtual resource', () => {
  test('are those that belong to this shard, each once', () => {
    const others = [`${other}/services/x/y`, 'https://shard-1.example:744/services/x/y', 'https://elsewhere/x'];
    const status = at(...others, `${own}/services/x/y`, `${own}/services/x/z`, `${own}/services/x/y`);
    const wanted = [`${own}/services/x/y`, `${own}/services/x/z`];
    expect(found(status)).toEqual(wanted);
    expect(found(status, { allowsExternal: true })).toEqual(wanted);
  });

  test('are those of no shard if this shard has none and servers outside are allowed', () => {
    const status = at(`${other}/services/x/y`, 'https://elsewhere/x', 'https://elsewhere/y');
    expect(found(status, { allowsExternal: true })).toEqual(['https://elsewhere/x', 'https://elsewhere/y', 'external']);
    expect(() => found(status)).toThrow(
      `no URLs match prefix "${own}", and this shard has no --virtual-resource-ca-file`,
    );
  });

  test('do not leave the path of the virtual workspaces by dot segments', () => {
    const base = `${own}/workspaces`;
    expect(found(at(`${base}/a/../b`), { base })).toEqual([`${base}/b`]);
    expect(() => found(at(`${base}/../clusters/root`), { base })).toThrow('no URLs match prefix');
    expect(() => found(at(`${base}/%2e%2e/clusters/root`), { base })).toThrow('no URLs match prefix');
  });

  test.each([
    ['nothing yet', undefined, 'there are no endpoints'],
    ['no endpoints', { endpoints: [] }, 'there are no endpoints'],
    ['a text', 'ready', 'status field is of a wrong type'],
    ['no list', { endpoints: 'x' }, 'endpoints field is of a wrong type'],
    ['no object', { endpoints: ['x'] }, 'endpoint at index 0 is not an object'],
    ['no url', { endpoints: [{ url: own }, {}] }, 'missing url in endpoint at index 1'],
    ['no URL', { endpoints: [{ url: 'x' }] }, '"x" is no URL'],
    ['another shard', at(`${other}/x`), `no URLs match prefix "${own}"`],
  ])('are reported missing with the reason: %s', (_what, status, message) => {
    expect(() => found(status, { allowsExternal: true })).toThrow(new EndpointError(message));
  });
});
