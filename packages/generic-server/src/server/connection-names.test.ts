import type { TLSSocket } from 'node:tls';
import { expect, test } from '@jest/globals';
import { connectionHeader } from '@multiplane/component-base';
import { ConnectionNames } from './connection-names.ts';
import type { Headers } from './exchange.ts';

const socket = (): TLSSocket => ({}) as TLSSocket;
/** The name that a request through the connection is given. */
function nameOf(names: ConnectionNames, connection: TLSSocket, told?: Headers[string], isTrusted = false): unknown {
  const headers: Record<string, Headers[string]> = told === undefined ? {} : { [connectionHeader]: told };
  names.assign({ headers, socket: connection }, () => isTrusted);
  return headers[connectionHeader];
}

test('requests of a connection have its name, those of others another one, in every process', () => {
  const [names, others] = [new ConnectionNames({ process: 'a' }), new ConnectionNames({ process: 'b' })];
  const [one, two] = [socket(), socket()];
  const name = nameOf(names, one);
  expect(name).toBe('a-0');
  expect(nameOf(names, one)).toBe(name);
  expect(new Set([name, nameOf(names, two), nameOf(others, one), nameOf(others, two)]).size).toBe(4);
});

test('only who is trusted names the connection', () => {
  const names = new ConnectionNames({ process: 'a' });
  const one = socket();
  const name = nameOf(names, one);
  expect(nameOf(names, one, 'told', true)).toBe('told');
  expect(nameOf(names, one, 'told')).toBe(name);
  for (const invalid of ['', ['told', 'again']]) expect(nameOf(names, one, invalid, true)).toBe(name);
});
