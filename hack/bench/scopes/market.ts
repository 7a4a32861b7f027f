import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { APIBinding, APIExport, APIExportScope } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { openFileStorage } from '@multiplane/storage';
import { apiExport, apiResourceSchema } from '@multiplane/testing';
import type { ServerProcess } from '../api/server-process.ts';
import { get, many, post, readyWorkspaces, until } from '../load.ts';

const clients = 16;
const group = 'bench.example.dev';
const apis = 'apis/apis.kcp.io/v1alpha2';
const label = 'bench.example.dev/provider';
const template = 'qqtemplateqq';

export interface MarketSize {
  readonly workspaces: number;
  readonly objects: number;
  readonly scopes: number;
  /** What the scopes select by; the objects have both. */
  readonly by: 'label' | 'field';
}

/** A provider's export, consumers that have bound it, and their objects, each with the label of a scope. */
export class Market {
  readonly #server: ServerProcess;
  readonly #size: MarketSize;
  #provider = '';
  #clusters: readonly string[] = [];

  constructor(size: MarketSize, modules: { readonly server: ServerProcess }) {
    this.#size = size;
    this.#server = modules.server;
  }

  /** Leaves the server stopped. Objects are copies in the store of one that was created through the API. */
  async setUp(): Promise<void> {
    const { workspaces } = this.#size;
    await this.#server.start();
    const transport = this.#server.transport();
    const [provider = '', ...clusters] = await readyWorkspaces(transport, 'root', { count: workspaces + 1, clients });
    this.#provider = provider;
    this.#clusters = clusters;
    await this.#exportThings(transport);
    const reference = { path: 'root', name: 'scopes.multiplane.dev' } as const;
    await bind(transport, provider, reference);
    await many(workspaces, clients, (index) =>
      bind(transport, clusters[index] as string, { path: provider, name: 'things' }),
    );
    await until(async () => {
      const { items } = await get<{ items: APIBinding[] }>(transport, `/clusters/*/${apis}/apibindings`);
      const names = new Set<string | undefined>(['things', reference.name]);
      return (
        items.filter(({ metadata, status }) => names.has(metadata.name) && status?.phase === 'Bound').length >
        workspaces
      );
    });
    await post(transport, `/clusters/${clusters[0]}/apis/${group}/v1/things`, {
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: template, labels: { [label]: `${template}-value` } },
      spec: { provider: `${template}-value`, step: 0, text: 'x'.repeat(300) },
    });
    transport.close();
    await this.#server.stop();
    await this.#copyObjects();
  }

  /**
   * Drops the histories of the stopped server's stores. A start reads 10,000 revisions of them, with the replaced objects:
   * they fill with any writes, and their size says nothing about what is stored.
   */
  async forgetHistory(): Promise<void> {
    for (const name of ['data', 'cache']) {
      const store = await openFileStorage({ directory: join(this.#server.directory, name), acceptDataLoss: true });
      await store.compact(await store.currentRevision());
      await store.close();
    }
  }

  /** The path of an object, in the workspace of its consumer. */
  object(index: number): string {
    return `/clusters/${this.#clusterOf(index)}/apis/${group}/v1/things/thing-${index}`;
  }

  /** An object of a scope: they are in as many workspaces. */
  objectOf(scope: number, n: number): string {
    const { scopes, objects } = this.#size;
    return this.object(scope + scopes * (n % (objects / scopes)));
  }

  /** The path of all objects of a scope. */
  view(scope: number): string {
    return `/services/apiexport-scope/${this.#provider}/scope-${scope}/clusters/*/apis/${group}/v1/things`;
  }

  async createScope(transport: RestTransport, scope: number): Promise<void> {
    const path = `/clusters/${this.#provider}/apis/scopes.multiplane.dev/v1alpha1/apiexportscopes`;
    const value = `v${scope}`;
    const selector =
      this.#size.by === 'field' ? { matchFields: { 'spec.provider': value } } : { matchLabels: { [label]: value } };
    await post(transport, path, {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScope',
      metadata: { name: `scope-${scope}` },
      spec: { export: { name: 'things' }, selector },
    } satisfies Partial<APIExportScope>);
  }

  /** Number of objects that a list of the scope has; undefined while it is not served. */
  async listed(transport: RestTransport, scope: number, query = ''): Promise<number | undefined> {
    const response = await transport.open({ method: 'GET', path: `${this.view(scope)}${query}` });
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return response.statusCode === 200
      ? Buffer.concat(chunks).toString('latin1').split('"uid":').length - 1
      : undefined;
  }

  #clusterOf(index: number): string {
    const { objects, workspaces } = this.#size;
    return this.#clusters[Math.trunc(index / (objects / workspaces))] as string;
  }

  async #exportThings(transport: RestTransport): Promise<void> {
    const properties = { provider: { type: 'string' }, step: { type: 'integer' }, text: { type: 'string' } };
    const spec = { type: 'object', properties };
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { type: 'object', properties: { spec } },
      selectableFields: [{ jsonPath: '.spec.provider' }],
    };
    const schema = apiResourceSchema({ group, plural: 'things', kind: 'Thing', scope: 'Cluster', versions: [version] });
    await post(transport, `/clusters/${this.#provider}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`, schema);
    const path = `/clusters/${this.#provider}/${apis}/apiexports`;
    await post(transport, path, apiExport('things', [`v1.things.${group}`]));
    await until(async () => (await get<APIExport>(transport, `${path}/things`)).status?.identityHash !== undefined);
  }

  async #copyObjects(): Promise<void> {
    const { objects, scopes } = this.#size;
    const store = await openFileStorage({ directory: join(this.#server.directory, 'data') });
    try {
      const { items } = await store.list(`/registry/${group}/things/`);
      const original = items.find(({ key }) => key.endsWith(`/${template}`));
      if (original === undefined) throw new Error('the first object is not stored');
      const text = original.value.toString();
      const uid = /"uid":"([^"]+)"/.exec(text)?.[1] ?? '';
      const [first = ''] = this.#clusters;
      await many(objects, 512, async (index) => {
        const name = `thing-${index}`;
        const cluster = this.#clusterOf(index);
        const value = text
          .replaceAll(`${template}-value`, `v${index % scopes}`)
          .replaceAll(template, name)
          .replaceAll(first, cluster)
          .replaceAll(uid, randomUUID());
        await store.create(original.key.replace(first, cluster).replace(template, name), Buffer.from(value));
      });
    } finally {
      await store.close();
    }
  }
}

async function bind(
  transport: RestTransport,
  cluster: string,
  reference: { readonly path: string; readonly name: string },
): Promise<void> {
  await post(transport, `/clusters/${cluster}/${apis}/apibindings`, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: reference.name },
    spec: { reference: { export: reference } },
  });
}
