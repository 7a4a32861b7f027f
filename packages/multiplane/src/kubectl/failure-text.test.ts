import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { RestTransport } from '@multiplane/client';
import { failureText } from './failure-text.ts';

const failed = (code: string, message: string, more: object): Error =>
  Object.assign(new Error(message), { code, ...more });

test('a refused connection has the text of kubectl', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const transport = new RestTransport({ config: { server: `https://127.0.0.1:${port}/clusters/root` } });
  const refused: unknown = await transport.json({ method: 'GET', path: '/' }).catch((error: unknown) => error);
  transport.close();
  expect(failureText(refused)).toBe(
    `The connection to the server 127.0.0.1:${port} was refused - did you specify the right host or port?`,
  );
});

test('a host name with several unreachable addresses has the text of the first one', () => {
  const refused = (address: string): Error =>
    failed('ECONNREFUSED', `connect ECONNREFUSED ${address}:6443`, { syscall: 'connect', address, port: 6443 });
  const all = Object.assign(new AggregateError([refused('127.0.0.1'), refused('::1')]), { code: 'ECONNREFUSED' });
  expect(failureText(all)).toBe(
    'The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?',
  );
});

test.each([
  [
    'an unknown host name',
    failed('ENOTFOUND', 'getaddrinfo ENOTFOUND nowhere.example', { hostname: 'nowhere.example' }),
    'Unable to connect to the server: dial tcp: lookup nowhere.example: no such host',
  ],
  [
    'a certificate of an unknown CA',
    failed('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify; try running Node.js with --use-system-ca', {}),
    'Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority',
  ],
  [
    'a file that is not there',
    failed('ENOENT', "ENOENT: no such file or directory, open '/none'", { syscall: 'open', path: '/none' }),
    'open /none: no such file or directory',
  ],
  ['anything else', new Error('workspace "root:a" not found'), 'workspace "root:a" not found'],
])('%s has a plain text', (_what, error, text) => {
  expect(failureText(error)).toBe(text);
});
