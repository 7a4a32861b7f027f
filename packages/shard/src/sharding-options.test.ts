import { describe, expect, test } from '@jest/globals';
import { parseOptions } from '@multiplane/component-base';
import { completeShardOptions, shardOptionTable, type ShardOptions } from './options.ts';
import { shardUrls } from './sharding/shard-urls.ts';

const complete = (...args: string[]): ShardOptions =>
  completeShardOptions(parseOptions(shardOptionTable, { args }).values);
/** A file that exists. */
const file = import.meta.filename;

describe('sharding flags', () => {
  test.each([
    [['--shard-name=east'], '--cache-kubeconfig is required for non-root shards'],
    [
      ['--shard-name=east', `--cache-kubeconfig=${file}`],
      '--root-shard-kubeconfig-file is required for non-root shards',
    ],
    [['--shard-name=a/b'], '--shard-name: "a/b" is no name for a shard'],
    [['--cache-kubeconfig=/nosuch'], '--cache-kubeconfig: /nosuch does not exist'],
    [
      [`--logical-cluster-admin-kubeconfig=${file}`],
      '--logical-cluster-admin-kubeconfig requires --shard-external-url',
    ],
    [['--shard-base-url=http://host'], '--shard-base-url: "http://host" is no https URL'],
    [[`--shard-client-cert-file=${file}`], '--shard-client-cert-file and --shard-client-key-file go together'],
    [['--run-virtual-workspaces=false'], '--run-virtual-workspaces=false requires --shard-virtual-workspace-url'],
    [
      ['--run-virtual-workspaces=false', '--shard-virtual-workspace-url=https://vw'],
      '--run-virtual-workspaces=false requires --shard-client-cert-file',
    ],
    [['--leader-election-renew-deadline=60s'], '--leader-election-retry-period must be less than'],
  ])('%j are rejected', (args, message) => {
    expect(() => complete(...args)).toThrow(message);
  });

  test('are valid for a single shard', () => {
    const options = complete(
      '--shard-name=east',
      `--cache-server-kubeconfig-file=${file}`,
      `--root-shard-kubeconfig-file=${file}`,
      '--nats-servers=nats://a:4222,nats://b:4222',
    );
    expect(options.cacheKubeconfig).toBe(file);
    expect(options.natsServers).toEqual(['nats://a:4222', 'nats://b:4222']);
    expect(options.requestheaderUsernameHeaders).toEqual(['X-Remote-User']);
  });
});

test('URLs default to the base URL, and that to the address of the listener', () => {
  expect(shardUrls(complete('--bind-address=::'), 7)).toEqual({
    baseURL: 'https://[::1]:7',
    externalURL: 'https://[::1]:7',
    virtualWorkspaceURL: 'https://[::1]:7',
  });
  expect(shardUrls(complete('--shard-base-url=https://a', '--shard-external-url=https://b'), 7)).toEqual({
    baseURL: 'https://a',
    externalURL: 'https://b',
    virtualWorkspaceURL: 'https://a',
  });
});
