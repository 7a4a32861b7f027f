import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  clientConfigOf,
  emptyInformerSource,
  readKubeconfig,
  RestClient,
  RestTransport,
  type Informer,
  type InformerHandlers,
  type InformerSource,
} from '@multiplane/client';
import { workspaces, workspaceTypes, type Workspace } from '@multiplane/controllers';
import { eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const shared = {
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 'shared', annotations: { 'kcp.io/cluster': 'provider', 'kcp.io/path': 'root:provider' } },
  spec: {},
} satisfies KubeObject;
const reference = { cluster: 'provider' as LogicalClusterName, namespace: '', name: 'shared' };

/** Informers of another shard with one type, which the lister has at once; handlers get it with {@link sync}. */
class OtherShards implements InformerSource {
  readonly #readers: InformerHandlers[] = [];

  informer<T extends KubeObject>(resource: GroupVersionResource): Informer<T> {
    if (resource.resource !== workspaceTypes.resource) return emptyInformerSource.informer<T>(resource);
    const informer: Informer = {
      synced: Promise.resolve(),
      get: ({ cluster, name }) => (cluster === reference.cluster && name === reference.name ? shared : undefined),
      list: ({ cluster = reference.cluster } = {}) => (cluster === reference.cluster ? [shared] : []),
      addHandlers: (handlers) => {
        this.#readers.push(handlers);
        return () => undefined;
      },
    };
    return informer as unknown as Informer<T>;
  }

  sync(): void {
    for (const reader of this.#readers) {
      reader.added?.(shared, reference, true);
      reader.synced?.();
    }
  }
}

let folder: TempDir;
beforeAll(async () => {
  folder = await TempDir.create('indexes');
});
afterAll(() => folder.remove());

test('a shard is not ready and admits no workspace before workspace types have synced', async () => {
  const others = new OtherShards();
  const embedded = {
    pathPrefix: '/services/cache/',
    runnables: [],
    handle: () => Promise.resolve(),
    informers: others,
  };
  let isReady = false;
  const starting = InProcessShard.start(undefined, folder, [() => embedded]).then((shard) => {
    isReady = true;
    return shard;
  });
  const kubeconfig = folder.join('root', 'admin.kubeconfig');
  const answering = eventually(
    async () => {
      const made = new RestTransport({ config: clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, 'shard-base') });
      const response = await made.open({ method: 'GET', path: '/readyz?verbose' });
      let body = '';
      for await (const chunk of response) body += String(chunk);
      // Everything has started; only the informers have not synced.
      expect(body).toContain('[+]startup ok');
      expect(body).toContain('[-]informer-sync failed');
      return made;
    },
    { timeout: 50_000 },
  );
  const tooEarly = starting.then(() => {
    throw new Error('the shard was ready before the informers synced');
  });
  const transport = await Promise.race([answering, tooEarly]);
  tooEarly.catch(() => undefined);
  const client = new RestClient({ transport });
  let isJudged = false;
  const asked = client
    .create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'asked-early' },
      spec: { type: { name: 'shared', path: 'root:provider' } },
    })
    .finally(() => (isJudged = true));
  // Writes that do not depend on other shards do not wait for them.
  await client.create(configMaps, root, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'plain', namespace: 'default' },
  });
  expect([isReady, isJudged]).toEqual([false, false]);
  others.sync();
  expect(((await asked) as Workspace).spec?.type).toEqual({ name: 'shared', path: 'root:provider' });
  await using shard = await starting;
  expect(shard).toBeDefined();
  transport.close();
}, 120_000);
