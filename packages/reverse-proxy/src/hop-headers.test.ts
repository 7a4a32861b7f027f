import { describe, expect, test } from '@jest/globals';
import { HeaderFilter } from './header-filter.ts';
import { copyResponseHeaders, flatHeaders, hopsOf, requestHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';

type Headers = Record<string, string | string[] | undefined>;
const drop = new HeaderFilter({ names: ['x-remote-user'] });

/** The headers as an object; a repeated name has all its values. */
function sent(headers: Headers, added: readonly string[] = [], remoteAddress?: string, names = false): Headers {
  const flat = requestHeaders({ headers, socket: { remoteAddress } }, 3, added, drop, names);
  const result = Object.create(null) as Headers;
  for (let i = 0; i < flat.length; i += 2) {
    const [name, value] = [flat[i] as string, flat[i + 1] as string];
    const known = result[name];
    result[name] = known === undefined ? value : [known, value].flat();
  }
  return result;
}

describe('request headers', () => {
  test('are forwarded unchanged, repeated ones as well', () => {
    const headers = { accept: 'a', 'x-many': ['1', '2'], constructor: 'c', 'content-length': '5' };
    expect(sent(headers)).toEqual({ ...headers, 'x-multiplane-hops': '3' });
  });

  test('are dropped if they are hop-by-hop, by name or nominated by Connection', () => {
    const hop = {
      connection: ['keep-alive, X-One', 'x-two'],
      'keep-alive': 'timeout=5',
      te: 'trailers',
      trailer: 'x',
      'transfer-encoding': 'chunked',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAAP__',
      'proxy-authorization': 'Basic x',
      expect: '100-continue',
      host: 'client.example',
      ':authority': 'x',
      'x-one': '1',
      'x-two': '2',
    };
    expect(sent({ ...hop, accept: 'a' })).toEqual({ accept: 'a', 'x-multiplane-hops': '3' });
  });

  test('set by the proxy can neither be removed nor sent by the client', () => {
    const headers = { connection: 'x-remote-user', 'x-remote-user': ['eve'], 'x-multiplane-hops': '0' };
    expect(sent(headers, ['x-remote-user', 'alice'])).toEqual({ 'x-remote-user': 'alice', 'x-multiplane-hops': '3' });
  });

  test('tell the name of the connection only to servers of the control plane', () => {
    const headers = { 'x-multiplane-connection': 'p-1' };
    expect(sent(headers)).toEqual({ 'x-multiplane-hops': '3' });
    expect(sent(headers, [], undefined, true)).toEqual({ ...headers, 'x-multiplane-hops': '3' });
  });

  test('append the client address to x-forwarded-for', () => {
    expect(sent({}, [], '10.0.0.1')['x-forwarded-for']).toBe('10.0.0.1');
    expect(sent({ 'x-forwarded-for': ['1.1.1.1', '2.2.2.2'] }, [], '10.0.0.1')['x-forwarded-for']).toBe(
      '1.1.1.1, 2.2.2.2, 10.0.0.1',
    );
  });
});

test.each([
  [undefined, 0],
  ['0', 0],
  ['12', 12],
  ['-1', Infinity],
  ['1e3', Infinity],
  ['99999', Infinity],
  ['', Infinity],
  [['1', '2'], Infinity],
])('%j are %d hops', (value, hops) => {
  expect(hopsOf({ 'x-multiplane-hops': value })).toBe(hops);
});

test('drops hop-by-hop response headers', () => {
  const set: Headers = {};
  const exchange = { setHeader: (name: string, value: string) => (set[name] = value) } as unknown as ProxyExchange;
  const headers = {
    connection: ['close, x-inner', 'X-More'],
    'x-inner': '1',
    'x-more': '2',
    date: 'x',
    'keep-alive': 'timeout=1',
    warning: ['a', 'b'],
    etag: '"1"',
    trailer: 'x-sum',
  };
  copyResponseHeaders(headers, exchange);
  expect(set).toEqual({ warning: ['a', 'b'], etag: '"1"', trailer: 'x-sum' });
});

test('repeats a trailer for each of its values', () => {
  expect(flatHeaders({ 'x-sum': '1', 'x-part': ['a', 'b'], none: undefined })).toEqual([
    'x-sum',
    '1',
    'x-part',
    'a',
    'x-part',
    'b',
  ]);
});
