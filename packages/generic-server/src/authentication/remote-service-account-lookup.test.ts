import { beforeEach, describe, expect, test } from '@jest/globals';
import { asLogicalClusterName, statusErrors, type KubeObject } from '@multiplane/apimachinery';
import { RemoteServiceAccountLookup } from './remote-service-account-lookup.ts';
import { FakeClock } from '@multiplane/testing';

const otherShardCluster = asLogicalClusterName('elsewhere');
const serviceAccounts = { group: '', version: 'v1', resource: 'serviceaccounts' };
const account = (uid: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'robot', uid },
});

describe('service accounts of other shards', () => {
  let clock: FakeClock;
  let asked: string[];
  let answer: () => KubeObject;
  let reads: RemoteServiceAccountLookup;
  const robot = (): Promise<KubeObject | undefined> => reads.serviceAccount(otherShardCluster, 'default', 'robot');

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    answer = () => account('1');
    reads = new RemoteServiceAccountLookup(
      { ttlMs: 10_000, maxEntries: 2 },
      {
        clock,
        clientOf: (cluster) =>
          cluster === 'nobody'
            ? undefined
            : {
                get: async ({ resource }, { namespace, name }) => {
                  asked.push(`${resource} ${namespace}/${name}`);
                  return answer();
                },
              },
      },
    );
  });

  test('are cached', async () => {
    expect(await robot()).toEqual(account('1'));
    answer = () => account('2');
    expect(await robot()).toEqual(account('1'));
    expect(asked).toEqual(['serviceaccounts default/robot']);
    await clock.advance(10_001);
    expect(await robot()).toEqual(account('2'));
  });

  test('are undefined if they do not exist or the shard is unknown', async () => {
    answer = () => {
      throw statusErrors.notFound(serviceAccounts, 'robot');
    };
    expect(await robot()).toBeUndefined();
    expect(await reads.secret(asLogicalClusterName('nobody'), 'default', 'robot')).toBeUndefined();
    expect(asked).toEqual(['serviceaccounts default/robot']);
  });

  test('are read again after a failure', async () => {
    answer = () => {
      throw new Error('the shard is silent');
    };
    await expect(robot()).rejects.toThrow('the shard is silent');
    answer = () => account('1');
    expect(await robot()).toEqual(account('1'));
  });

  test('are cached up to a limit', async () => {
    for (const name of ['a', 'b', 'c', 'a']) await reads.secret(otherShardCluster, 'default', name);
    expect(asked).toEqual(['secrets default/a', 'secrets default/b', 'secrets default/c', 'secrets default/a']);
  });
});
