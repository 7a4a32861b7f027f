import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { loopbackUser, type AdmissionAttributes } from '@multiplane/apiserver';
import { FakeClock } from '@multiplane/component-base';
import { AwaitIndexes } from './await-indexes.ts';

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

/** Who is told of everything when the test says so. */
class Reader {
  readonly #told = Promise.withResolvers<void>();
  readonly told = this.#told.promise;
  isTold = false;
  tell(): void {
    this.isTold = true;
    this.#told.resolve();
  }
}

function plugin(isGuardedElsewhere = false) {
  const [own, foreign, clock] = [new Reader(), new Reader(), new FakeClock()];
  const waits = new AwaitIndexes({ own, foreign, isGuardedElsewhere: () => isGuardedElsewhere, clock });
  return { own, foreign, clock, admit: (attributes: AdmissionAttributes) => waits.admit(attributes) };
}

test('writes wait for what the shard itself has, those of the server do not', async () => {
  const { own, admit } = plugin();
  const waiting = admit(write('configmaps'));
  expect(waiting).toBeInstanceOf(Promise);
  expect(admit(write('configmaps', loopbackUser.name))).toBeUndefined();
  own.tell();
  await waiting;
  expect(admit(write('configmaps'))).toBeUndefined();
});

test.each([
  ['workspaces', false],
  ['apibindings', false],
  ['configmaps', true],
])('%s guarded elsewhere: %p wait for what other shards share', async (resource, guarded) => {
  const { own, foreign, admit } = plugin(guarded);
  own.tell();
  const waiting = admit(write(resource));
  expect(waiting).toBeInstanceOf(Promise);
  foreign.tell();
  await waiting;
  expect(admit(write(resource))).toBeUndefined();
});

test('after ten seconds a write is refused', async () => {
  const { clock, admit } = plugin();
  const refused = expect(admit(write('configmaps'))).rejects.toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message: 'configmaps "n" is forbidden: not yet ready to handle request',
  });
  await clock.advance(10_000);
  await refused;
});
