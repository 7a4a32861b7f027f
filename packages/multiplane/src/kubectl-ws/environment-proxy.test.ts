import { expect, test } from '@jest/globals';
import { proxyFromEnvironment } from './environment-proxy.ts';

const proxy = 'http://proxy:3128';
const proxyTo = (server: string, NO_PROXY = ''): string | undefined =>
  proxyFromEnvironment(`${server}/clusters/root`, { HTTPS_PROXY: proxy, NO_PROXY });

test('upper-case variables take precedence, and a proxy may omit its scheme', () => {
  const server = 'https://kcp.example.com';
  expect(proxyFromEnvironment(server, {})).toBeUndefined();
  expect(proxyFromEnvironment(server, { https_proxy: 'small:1' })).toBe('http://small:1');
  expect(proxyFromEnvironment(server, { https_proxy: 'small:1', HTTPS_PROXY: 'https://big:1' })).toBe('https://big:1');
  expect(proxyFromEnvironment(server, { HTTPS_PROXY: proxy, no_proxy: 'example.com' })).toBeUndefined();
});

test.each(['https://localhost:6443', 'https://127.0.0.1:6443', 'https://127.1.2.3', 'https://[::1]:6443'])(
  '%s is this machine',
  (server) => {
    expect(proxyTo(server)).toBeUndefined();
  },
);

test.each([
  ['kcp.example.com', 'example.com', false],
  ['example.com', 'other, Example.com', false],
  ['example.com', '.example.com', true],
  ['kcp.example.com', '*.example.com', false],
  ['notexample.com', 'example.com', true],
  ['kcp.example.com:6443', 'example.com:6443', false],
  ['kcp.example.com:6443', 'example.com:443', true],
  ['kcp.example.com', '*', false],
  ['10.1.2.3', '10.0.0.0/8', false],
  ['11.1.2.3', '10.0.0.0/8', true],
  ['10.1.2.3', '10.1.2.3', false],
  ['[fd00::1]', 'fd00::/8', false],
  ['[fd00::1]', 'fd00::1', false],
  ['kcp.example.com', ' ,/,10.0.0.0/99,[', true],
])('requests to %s with NO_PROXY=%s use the proxy: %s', (host, exceptions, proxied) => {
  expect(proxyTo(`https://${host}`, exceptions)).toBe(proxied ? proxy : undefined);
});
