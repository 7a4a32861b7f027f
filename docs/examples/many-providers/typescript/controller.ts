/**
 * The controller of a provider of clusters.marketplace.example, with `@kubernetes/client-node`. It serves all consumers on one
 * shard, through the wildcard of an endpoint:
 *
 *   node controller.ts <kubeconfig> <context> <finalizer>
 *
 * The server of the context is `<endpoint>/clusters/*`. The endpoint may be the one of an APIExport or of an APIExportScope:
 * the program is the same.
 *
 * - A cluster gets the finalizer, and then the phase Running.
 * - The finalizer is removed when the cluster is being deleted, or waits for its transfer to another provider.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CustomObjectsApi, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from '@kubernetes/client-node';

interface Cluster {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion: string;
    readonly annotations?: Record<string, string>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly status?: { readonly phase?: string };
}

const clusters = { group: 'marketplace.example', version: 'v1', plural: 'clusters' };
const transfer = 'scopes.multiplane.dev/transfer';
const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

const [kubeconfig = '', context = '', finalizer = ''] = process.argv.slice(2);
const all = configFor('*');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The endpoint for one consumer, or for all of them. */
function configFor(cluster: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  config.setCurrentContext(context);
  const name = config.getContextObject(context)?.cluster;
  config.clusters = config.clusters.map((one) =>
    one.name === name ? { ...one, server: one.server.replace(/\*$/, cluster) } : one,
  );
  return config;
}

async function reconcile({ metadata, status }: Cluster): Promise<void> {
  const { name, namespace, resourceVersion, annotations = {}, finalizers = [] } = metadata;
  const consumer = annotations['kcp.io/cluster'] ?? '';
  const api = configFor(consumer).makeApiClient(CustomObjectsApi);
  const object = { ...clusters, namespace, name };
  const isHeld = finalizers.includes(finalizer);
  // The resource version makes a patch of a list safe: it fails if the object has changed, and the watch tells how.
  const setFinalizers = (next: readonly string[]) =>
    api.patchNamespacedCustomObject(
      { ...object, body: { metadata: { resourceVersion, finalizers: next } } },
      mergePatch,
    );
  if (metadata.deletionTimestamp !== undefined || annotations[transfer] !== undefined) {
    if (!isHeld) return;
    await setFinalizers(finalizers.filter((one) => one !== finalizer));
    say(`${consumer} ${name} is released`);
    return;
  }
  if (!isHeld) await setFinalizers([...finalizers, finalizer]);
  if (status?.phase === 'Running') return;
  await api.patchNamespacedCustomObjectStatus({ ...object, body: { status: { phase: 'Running' } } }, mergePatch);
  say(`${consumer} ${name} is running`);
}

/**
 * Objects are reconciled one after the other. 404: the object was deleted, or moved to another provider. 409: it has changed.
 * The watch tells both.
 */
let last = Promise.resolve();
function enqueue(object: Cluster, attempt = 0): void {
  last = last
    .then(() => reconcile(object))
    .catch((error: unknown) => {
      const { code, message } = error as { code?: number; message: string };
      if (code === 404 || code === 409) return;
      say(`${object.metadata.name}: ${message}`);
      setTimeout(() => enqueue(object, attempt + 1), Math.min(100 * 2 ** attempt, 10_000));
    });
}

/** Lists, then watches until the watch ends; the history may be gone by then, so it starts over with a list. */
async function listAndWatch(): Promise<void> {
  const list = (await all.makeApiClient(CustomObjectsApi).listClusterCustomObject(clusters)) as {
    readonly metadata: { readonly resourceVersion: string };
    readonly items: readonly Cluster[];
  };
  for (const object of list.items) enqueue(object);
  const ended = Promise.withResolvers<void>();
  await new Watch(all).watch(
    `/apis/${clusters.group}/${clusters.version}/${clusters.plural}`,
    { resourceVersion: list.metadata.resourceVersion, allowWatchBookmarks: true },
    (type: string, object: Cluster) => {
      if (type === 'ADDED' || type === 'MODIFIED') enqueue(object);
      if (type === 'DELETED')
        say(`${object.metadata.annotations?.['kcp.io/cluster'] ?? ''} ${object.metadata.name} is gone`);
    },
    () => ended.resolve(),
  );
  await ended.promise;
}

for (;;) {
  try {
    await listAndWatch();
  } catch (error) {
    say((error as Error).message);
  }
  await sleep(500);
}
