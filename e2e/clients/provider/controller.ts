/**
 * The provider of Cowboys: tells each cowboy of every consumer what comes of it, and leaves them a note, if the consumer
 * accepts that. One process serves all consumers on all shards.
 *
 * Usage: controller.ts <kubeconfig> <context of the provider's workspace> <name of the APIExport>
 */
import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import {
  clientConfigOf,
  readKubeconfig,
  RemoteInformer,
  RestClient,
  RestTransport,
  systemClock,
  WorkQueue,
  type ObjectReference,
} from '@multiplane/client';

const cowboys = { group: 'wildwest.dev', version: 'v1alpha1', resource: 'cowboys' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const slices = 'apis/apis.kcp.io/v1alpha1/apiexportendpointslices';
type Cowboy = KubeObject & { spec?: { intent?: string }; status?: { result?: string } };

const [kubeconfig = '', context, exportName = ''] = process.argv.slice(2);
const config = clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, context);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Follows one endpoint: the consumers on one shard. */
async function follow(url: string): Promise<never> {
  const { origin, pathname: pathPrefix } = new URL(url);
  const transport = new RestTransport({ config: { ...config, server: origin } });
  const client = new RestClient({ transport, pathPrefix });
  const queue = new WorkQueue({}, { clock: systemClock });
  const informer = new RemoteInformer<Cowboy>(
    { resource: cowboys, pathPrefix },
    { transport, clock: systemClock, onFailure: (error) => say(`${url}: ${error.message}`) },
  );
  const add = (reference: ObjectReference): void => queue.add(JSON.stringify(reference));
  informer.addHandlers({ added: (_, reference) => add(reference), updated: (_, __, reference) => add(reference) });
  void informer.run(new AbortController().signal);
  for (;;) {
    const key = (await queue.get()) as string;
    try {
      const reference = JSON.parse(key) as ObjectReference;
      const cowboy = informer.get(reference);
      if (cowboy !== undefined) await reconcile(client, reference, cowboy);
      queue.forget(key);
    } catch (error) {
      say(`${key}: ${(error as Error).message}`);
      queue.addRateLimited(key);
    }
    queue.done(key);
  }
}

async function reconcile(client: RestClient, reference: ObjectReference, cowboy: DeepReadonly<Cowboy>): Promise<void> {
  const { cluster, namespace, name } = reference;
  const result = cowboy.spec?.intent === 'good' ? 'rides into the sunset' : 'is locked up';
  if (cowboy.status?.result === result) return;
  const note = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `note-${name}`, namespace }, data: { result } };
  await client.create(configMaps, cluster, note).catch((error: unknown) => {
    const { code, message } = error as { code?: number; message: string };
    // 409: the note is there. 403: this consumer does not want notes.
    if (code !== 409 && code !== 403) throw error;
    if (code === 403) say(`no note for ${name}: ${message}`);
  });
  await client.patch(
    cowboys,
    reference,
    'application/merge-patch+json',
    { status: { result } },
    { subresource: 'status' },
  );
  say(`${name} in ${cluster} ${result}`);
}

const followed = new Set<string>();
const transport = new RestTransport({ config });
const path = `${new URL(config.server).pathname}/${slices}/${exportName}`;
for (;;) {
  // A shard has an endpoint from the first consumer on.
  try {
    const slice = (await transport.json({ method: 'GET', path })) as { status?: { endpoints?: { url: string }[] } };
    for (const { url } of slice.status?.endpoints ?? []) {
      if (!followed.has(url)) void follow(url);
      followed.add(url);
    }
  } catch (error) {
    say(`${path}: ${(error as Error).message}`);
  }
  await systemClock.sleep(1000);
}
