import { describe, expect, test } from '@jest/globals';
import { EndpointError, endpointUrls } from './endpoint-urls.ts';

const own = 'https://shard-1.example:7443';
const other = 'https://shard-2.example:7443';

const labels = { name: 'shard-1', region: 'eu' };
const at = (...urls: string[]): object => ({ endpoints: urls.map((url) => ({ url })) });
const found = (status: unknown, { base = own, allowsExternal = false } = {}): string[] => {
  const { urls, isExternal } = endpointUrls(status, { own: base, others: [other], labels, allowsExternal });
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

  describe('of which some say which shards they serve', () => {
    const everywhere = { url: `${own}/all`, shards: { matchAll: true } };
    const select = (url: string, selector: object): object => ({ url: `${own}/${url}`, shards: { selector } });
    const region = select('eu', { matchLabels: { region: 'eu' } });
    const shard = select('this', {
      matchLabels: { name: 'shard-1' },
      matchExpressions: [{ key: 'region', operator: 'Exists' }],
    });
    const elsewhere = select('us', { matchLabels: { region: 'us', name: 'shard-1', zone: 'a' } });

    test.each([
      ['all shards', [everywhere], ['all']],
      ['a region before all shards', [region, everywhere], ['eu']],
      ['the most requirements win, in any order', [everywhere, region, shard, elsewhere], ['this']],
      ['a selector without requirements is for all shards', [select('any', {}), elsewhere], ['any']],
      ['equal ones are equal servers', [everywhere, select('any', {})], ['all', 'any']],
      ['those that say nothing are left out', [{ url: `${own}/silent` }, region], ['eu']],
      ['shards that say nothing', [{ url: `${own}/silent`, shards: {} }], ['silent']],
    ])('%s', (_what, endpoints, paths) => {
      expect(found({ endpoints })).toEqual(paths.map((path) => `${own}/${path}`));
    });

    test('are servers outside unless they are below the URL of this shard, another shard included', () => {
      const endpoints = [{ url: `${other}/services/x`, shards: { matchAll: true } }];
      expect(found({ endpoints }, { allowsExternal: true })).toEqual([`${other}/services/x`, 'external']);
      expect(() => found({ endpoints })).toThrow('this shard has no --virtual-resource-ca-file');
    });

    test.each([
      ['none for this shard', [elsewhere], 'no endpoint selects this shard by its labels'],
      ['both', [{ url: own, shards: { matchAll: true, selector: {} } }], 'sets both matchAll and selector'],
      ['a text', [{ url: own, shards: 'eu' }], 'shards in endpoint at index 0 is not an object'],
      ['a selector that is a text', [{ url: own, shards: { selector: 'eu' } }], 'is not a shard selector'],
      [
        'an unknown operator',
        [select('x', { matchExpressions: [{ key: 'a', operator: 'Near' }] })],
        'endpoint at index 0 has an invalid shard selector: "Near" is not a valid label selector operator',
      ],
    ])('are reported missing with the reason: %s', (_what, endpoints, message) => {
      expect(() => found({ endpoints })).toThrow(message);
    });
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
