import { expect, test } from '@jest/globals';
import { adminServer } from './admin-kubeconfig.ts';

const urls = { baseURL: 'https://shard:6443', externalURL: 'https://example.org:7443' };

test('the kubeconfig of a shard without others points to its external URL', () => {
  expect(adminServer({}, urls)).toBe('https://example.org:7443');
});

test('the kubeconfig of one of several shards points to the shard, where alone its tokens are valid', () => {
  expect(adminServer({ cacheKubeconfig: '/pki/cache.kubeconfig' }, urls)).toBe('https://shard:6443');
});
