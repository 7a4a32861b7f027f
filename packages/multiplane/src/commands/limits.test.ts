import { describe, expect, test } from '@jest/globals';
import { cacheServerOptionTable } from '@multiplane/cache-server';
import { OptionError, parseOptions, type OptionTable } from '@multiplane/component-base';
import { frontProxyOptionTable } from '@multiplane/front-proxy';
import { shardOptionTable } from '@multiplane/shard';
import { virtualWorkspacesOptionTable } from '@multiplane/virtual-workspaces';

const tables: Readonly<Record<string, OptionTable>> = {
  shard: shardOptionTable,
  'front-proxy': frontProxyOptionTable,
  'cache-server': cacheServerOptionTable,
  'virtual-workspaces': virtualWorkspacesOptionTable,
};
const flagsOf = (table: OptionTable, type: string): string[] =>
  Object.keys(table).filter((name) => table[name]?.type === type);
const refusal = (table: OptionTable, ...args: string[]): unknown => {
  try {
    return parseOptions(table, { args }).values;
  } catch (error) {
    return error;
  }
};

describe.each(Object.keys(tables))('limits of %s', (server) => {
  const table = tables[server] as OptionTable;

  test('no number is accepted that nothing can have', () => {
    for (const flag of flagsOf(table, 'number'))
      for (const value of ['1000000000000', '-1', '0.5', 'NaN', ''])
        expect([flag, value, refusal(table, `--${flag}=${value}`)]).toEqual([flag, value, expect.any(OptionError)]);
  });

  test('no duration is negative, or so long that its timer would end at once', () => {
    for (const flag of flagsOf(table, 'duration'))
      for (const value of ['-1s', '100000h', '9999999999999999h'])
        expect([flag, value, refusal(table, `--${flag}=${value}`)]).toEqual([flag, value, expect.any(OptionError)]);
  });
});

test.each([
  ['shard', 'max-requests-inflight', '0'],
  ['shard', 'max-mutating-requests-inflight', '0'],
  ['shard', 'request-timeout', '0s'],
  ['shard', 'event-ttl', '0s'],
  ['shard', 'leader-election-retry-period', '0s'],
  ['front-proxy', 'upstream-connect-timeout', '0s'],
  ['front-proxy', 'upstream-silence-timeout', '0s'],
  ['front-proxy', 'upstream-probe-timeout', '1ns'],
  ['front-proxy', 'upstream-give-up-timeout', '0s'],
])('%s refuses --%s=%s: nothing would be served', (server, flag, value) => {
  const error = refusal(tables[server] as OptionTable, `--${flag}=${value}`);
  expect(error).toBeInstanceOf(OptionError);
  expect((error as Error).message).toContain(`for --${flag}: must be between`);
});
