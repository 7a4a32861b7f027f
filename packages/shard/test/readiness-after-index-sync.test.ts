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
  metadata: { name: 'shared', annotations: { 'kcp.io/cluster': 'elsewhere', 'kcp.io/path': 'root:elsewhere' } },
  spec: {},
} satisfies KubeObject;
const reference = { cluster: 'elsewhere' as LogicalClusterName, namespace: '', name: 'shared' };

/** What another shard shares: one type, which the informer has at once and tells its readers of when it may. */
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

  tell(): void {
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

test('a shard is not ready, and judges no workspace, before its types can be found', async () => {
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
      // All has started, and one thing is missing.
      expect(body).toContain('[+]startup ok');
      expect(body).toContain('[-]informer-sync failed');
      return made;
    },
    { timeout: 50_000 },
  );
  const tooEarly = starting.then(() => {
    throw new Error('the shard was ready at once');
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
      spec: { type: { name: 'shared', path: 'root:elsewhere' } },
    })
    .finally(() => (isJudged = true));
  // What has nothing to do with other shards does not wait for them.
  await client.create(configMaps, root, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'plain', namespace: 'default' },
  });
  expect([isReady, isJudged]).toEqual([false, false]);
  others.tell();
  expect(((await asked) as Workspace).spec?.type).toEqual({ name: 'shared', path: 'root:elsewhere' });
  await using shard = await starting;
  expect(shard).toBeDefined();
  transport.close();
}, 120_000);
