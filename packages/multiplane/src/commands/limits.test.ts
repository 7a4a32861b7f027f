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
  ['shard', 'max-requests-inflight', '9'],
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

test.each([
  ['logical-cluster-total-object-limit', '99', '0 or between 100 and'],
  ['workspace-max-bytes', '1048575', '0 or between 1048576 and'],
  ['workspace-max-definitions', '1', '0 or between 10 and'],
  ['workspace-max-schema-bytes', '1', '0 or between 1048576 and'],
  ['workspace-max-watches', '9', '0 or between 10 and'],
  ['workspace-max-connections', '9', '0 or between 10 and'],
  ['workspace-max-requests-in-flight', '9', '0 or between 10 and'],
  ['workspace-max-requests-per-second', '9', '0 or between 10 and'],
  ['workspace-max-cel-cost-per-second', '999999', '0 or between 1000000 and'],
  ['service-account-max-token-expiration', '1s', '0 or between 1h and'],
])('a shard refuses --%s=%s and accepts 0, which is no limit', (flag, value, range) => {
  const error = refusal(shardOptionTable, `--${flag}=${value}`);
  expect(error).toBeInstanceOf(OptionError);
  expect((error as Error).message).toContain(`invalid argument "${value}" for --${flag}: must be ${range}`);
  expect(refusal(shardOptionTable, `--${flag}=${flag.endsWith('expiration') ? '0s' : '0'}`)).not.toBeInstanceOf(Error);
});
