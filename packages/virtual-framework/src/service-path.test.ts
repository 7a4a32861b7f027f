import { expect, test } from '@jest/globals';
import { parseRequestPath } from '@multiplane/generic-server';
import { parseServicePath } from './service-path.ts';

const parse = (path: string, keySegments = 1) => parseServicePath(parseRequestPath(path), 'views', keySegments);

test('parses the key, the logical cluster and the path within it', () => {
  expect(parse('/services/views/root:universal/clusters/abc/api/v1/namespaces?limit=1')).toMatchObject({
    key: 'root:universal',
    cluster: 'abc',
    requestPath: {
      cluster: 'abc',
      path: '/api/v1/namespaces',
      segments: ['api', 'v1', 'namespaces'],
      query: 'limit=1',
    },
  });
  expect(parse('/services/views/x/clusters/*')).toMatchObject({
    cluster: '*',
    requestPath: { path: '', segments: [] },
  });
  expect(parse('/services/views/x/clusters/*/')).toMatchObject({ cluster: '*', requestPath: { path: '/' } });
  expect(parse('/services/views/x/y/clusters/abc/apis', 2)).toMatchObject({
    key: 'x/y',
    requestPath: { path: '/apis' },
  });
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
])('%s is not a path of the service', (path) => {
  expect(parse(path)).toBeUndefined();
});
