import { expect, test } from '@jest/globals';
import { parseRequestPath } from '@multiplane/apiserver';
import { parseServicePath } from './service-path.ts';

const parse = (path: string, keySegments = 1) => parseServicePath(parseRequestPath(path), 'views', keySegments);

test('a path names a view, a logical cluster and what is asked for in it', () => {
  expect(parse('/services/views/root:universal/clusters/abc/api/v1/namespaces?limit=1')).toMatchObject({
    key: 'root:universal',
    cluster: 'abc',
    below: { cluster: 'abc', path: '/api/v1/namespaces', segments: ['api', 'v1', 'namespaces'], query: 'limit=1' },
  });
  expect(parse('/services/views/x/clusters/*')).toMatchObject({ cluster: '*', below: { path: '', segments: [] } });
  expect(parse('/services/views/x/clusters/*/')).toMatchObject({ cluster: '*', below: { path: '/' } });
  expect(parse('/services/views/x/y/clusters/abc/apis', 2)).toMatchObject({ key: 'x/y', below: { path: '/apis' } });
});

test.each([
  '/services',
  '/services/views',
  '/services/views/x',
  '/services/views/x/clusters',
  '/services/other/x/clusters/abc',
  '/services/views/x/clusters/root:a:b/api',
  '/services/views/x/y/clusters/abc',
  '/clusters/abc/services/views/x/clusters/abc',
])('%s is somebody else’s', (path) => {
  expect(parse(path)).toBeUndefined();
});
