import { expect, test } from '@jest/globals';
import type { RequestInfo } from './request-info.ts';
import { resolveRequestInfo } from './request-info-resolver.ts';
import { parseRequestPath } from './request-path.ts';

const resolve = (method: string, url: string): RequestInfo => {
  const target = parseRequestPath(url);
  return resolveRequestInfo(method, target, target.cluster);
};

test.each<[string, string, Partial<RequestInfo>]>([
  ['GET', '/version', { isResourceRequest: false, verb: 'get', path: '/version', resource: '' }],
  ['POST', '/api/v1', { isResourceRequest: false, verb: 'post' }],
  ['GET', '/apis/g/v', { isResourceRequest: false, verb: 'get', group: '' }],
  [
    'GET',
    '/api/v1/pods',
    {
      isResourceRequest: true,
      verb: 'list',
      apiPrefix: 'api',
      group: '',
      version: 'v1',
      resource: 'pods',
      namespace: '',
      name: '',
    },
  ],
  ['HEAD', '/api/v1/pods/a', { verb: 'get', name: 'a', parts: ['a'] }],
  [
    'GET',
    '/apis/g/v/namespaces/n/foos/a/status/x',
    {
      verb: 'get',
      group: 'g',
      version: 'v',
      namespace: 'n',
      resource: 'foos',
      name: 'a',
      subresource: 'status',
      parts: ['a', 'status', 'x'],
    },
  ],
  ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces', namespace: '' }],
  ['GET', '/api/v1/namespaces/n', { verb: 'get', resource: 'namespaces', namespace: 'n', name: 'n' }],
  [
    'PUT',
    '/api/v1/namespaces/n/finalize',
    { verb: 'update', resource: 'namespaces', namespace: 'n', name: 'n', subresource: 'finalize' },
  ],
  ['PATCH', '/api/v1/namespaces/n/status', { verb: 'patch', resource: 'namespaces', name: 'n', subresource: 'status' }],
  ['POST', '/api/v1/namespaces/n/configmaps', { verb: 'create', resource: 'configmaps', namespace: 'n' }],
  ['DELETE', '/api/v1/namespaces/n/configmaps', { verb: 'deletecollection' }],
  [
    'DELETE',
    '/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3Dx',
    { verb: 'deletecollection', name: 'x', parts: [] },
  ],
  ['GET', '/api/v1/configmaps?watch=true', { verb: 'watch' }],
  ['GET', '/api/v1/configmaps?watch', { verb: 'watch' }],
  ['GET', '/api/v1/configmaps?watch=False', { verb: 'list' }],
  ['GET', '/api/v1/configmaps?watch=0', { verb: 'list' }],
  ['GET', '/api/v1/configmaps/a?watch=1', { verb: 'get' }],
  ['GET', '/api/v1/configmaps?watch=1&fieldSelector=metadata.name=x', { verb: 'watch', name: 'x' }],
  ['GET', '/api/v1/configmaps?fieldSelector=metadata.name!=x', { verb: 'list', name: '' }],
  ['GET', '/api/v1/configmaps?fieldSelector=metadata.name=a/b', { verb: 'list', name: '' }],
  ['GET', '/api/v1/configmaps?fieldSelector=a', { verb: 'list', name: '' }],
  [
    'GET',
    '/apis/g/v/watch/namespaces/n/foos/a/b',
    { verb: 'watch', namespace: 'n', resource: 'foos', name: 'a', subresource: '' },
  ],
  ['GET', '/api/v1/watch/foos', { verb: 'watch', resource: 'foos' }],
  ['OPTIONS', '/api/v1/foos', { verb: '', resource: 'foos' }],
  [
    'GET',
    '/clusters/root/api/v1/namespaces/',
    { verb: 'list', cluster: 'root', path: '/api/v1/namespaces/' } as Partial<RequestInfo>,
  ],
])('%s %s', (method, url, expected) => {
  expect(resolve(method, url)).toMatchObject(expected);
});

test('a watch path without a resource', () => {
  expect(() => resolve('GET', '/api/v1/watch')).toThrow(
    expect.objectContaining({
      code: 400,
      message: 'unable to determine kind and namespace from url, [api v1 watch]',
    }),
  );
});

test('repeated parameters keep their order', () => {
  expect(resolve('GET', '/api/v1/foos?a=1&b=2&a=3').query.getAll('a')).toEqual(['1', '3']);
});
