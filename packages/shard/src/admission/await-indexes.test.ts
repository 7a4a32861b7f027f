import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { loopbackUser, type AdmissionAttributes } from '@multiplane/apiserver';
import { AwaitIndexes } from './await-indexes.ts';
import { FakeClock } from '@multiplane/testing';

const definitions = builtInResources({ eventTtlSeconds: 60 });

function write(resource: string, user = 'alice'): AdmissionAttributes {
  const definition = definitions.find((one) => one.resource === resource);
  if (definition === undefined) throw new Error(`there is no ${resource}`);
  return {
    operation: 'CREATE',
    definition,
    subresource: '',
    cluster: 'c' as LogicalClusterName,
    namespace: '',
    name: 'n',
    user: user === loopbackUser.name ? loopbackUser : { name: user, uid: '', groups: [], extra: {} },
    object: undefined,
    oldObject: undefined,
    options: {},
    dryRun: false,
    warn: () => undefined,
  };
}

/** A sync tracker that the test controls. */
class Reader {
  readonly #synced = Promise.withResolvers<void>();
  readonly synced = this.#synced.promise;
  hasSynced = false;
  sync(): void {
    this.hasSynced = true;
    this.#synced.resolve();
  }
}

function plugin(isGuardedElsewhere = false) {
  const [local, remote, clock] = [new Reader(), new Reader(), new FakeClock()];
  const waits = new AwaitIndexes({ local, remote, isGuardedByOtherShard: () => isGuardedElsewhere, clock });
  return { local, remote, clock, admit: (attributes: AdmissionAttributes) => waits.admit(attributes) };
}

test('writes wait for local informers, those of the loopback client do not', async () => {
  const { local, admit } = plugin();
  const waiting = admit(write('configmaps'));
  expect(waiting).toBeInstanceOf(Promise);
  expect(admit(write('configmaps', loopbackUser.name))).toBeUndefined();
  local.sync();
  await waiting;
  expect(admit(write('configmaps'))).toBeUndefined();
});

test.each([
  ['workspaces', false],
  ['apibindings', false],
  ['configmaps', true],
])('%s guarded by another shard: %p wait for the informers over other shards', async (resource, guarded) => {
  const { local, remote, admit } = plugin(guarded);
  local.sync();
  const waiting = admit(write(resource));
  expect(waiting).toBeInstanceOf(Promise);
  remote.sync();
  await waiting;
  expect(admit(write(resource))).toBeUndefined();
});

test('rejects a write after ten seconds', async () => {
  const { clock, admit } = plugin();
  const refused = expect(admit(write('configmaps'))).rejects.toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message: 'configmaps "n" is forbidden: not yet ready to handle request',
  });
  await clock.advance(10_000);
  await refused;
});
