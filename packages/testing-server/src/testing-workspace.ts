import { readFile } from 'node:fs/promises';
import {
  isJsonObject,
  parseYaml,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { parseResource, RestClient, type NewObject, type RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { until } from './until.ts';

const fieldManager = 'multiplane-testing-server';

interface Kind {
  readonly resource: GroupVersionResource;
  readonly namespaced: boolean;
}

/** A workspace of a testing server, with the administrator's rights. */
export class TestingWorkspace {
  readonly path: string;
  /** File with the administrator's credentials, for this workspace. */
  readonly kubeconfig: string;
  readonly #transport: RestTransport;
  readonly #clock: Clock;
  readonly #client: RestClient;

  constructor(
    options: { readonly path: string; readonly kubeconfig: string },
    modules: { readonly transport: RestTransport; readonly clock: Clock },
  ) {
    this.path = options.path;
    this.kubeconfig = options.kubeconfig;
    this.#transport = modules.transport;
    this.#clock = modules.clock;
    this.#client = new RestClient(modules);
  }

  /**
   * Applies objects one after the other, and returns what the server has then. Objects without a namespace that need one are put into
   * `default`. A kind that is not served yet, such as that of a binding before, is waited for.
   */
  async apply<T extends KubeObject = KubeObject>(...objects: readonly NewObject<T>[]): Promise<T[]> {
    const applied: T[] = [];
    for (const object of objects as readonly KubeObject[]) {
      const { resource, namespaced } = await until(() => this.#kindOf(object), { clock: this.#clock });
      const { name = '' } = object.metadata;
      const namespace = namespaced ? (object.metadata.namespace ?? 'default') : '';
      const reference = { cluster: this.#cluster, namespace, name };
      const type = 'application/apply-patch+yaml';
      const patch = object as unknown as JsonObject;
      applied.push((await this.#client.patch(resource, reference, type, patch, { fieldManager, force: true })) as T);
    }
    return applied;
  }

  /** {@link apply} for the objects of a YAML or JSON file. */
  async applyFile(file: string): Promise<KubeObject[]> {
    const parts = (await readFile(file, 'utf8')).split(/^---(?:[ \t].*)?$/m).filter((part) => part.trim() !== '');
    const objects = parts.map((part) => parseYaml(part)).filter((value): value is JsonObject => isJsonObject(value));
    return this.apply(...(objects as unknown as KubeObject[]));
  }

  /** Reads an object of a resource, named `<group>/<version>/<resource>` or `<version>/<resource>`. */
  async get<T extends KubeObject = KubeObject>(resource: string, name: string, namespace = ''): Promise<T> {
    const reference = { cluster: this.#cluster, namespace, name };
    return (await this.#client.get(parseResource(resource), reference)) as T;
  }

  async delete(resource: string, name: string, namespace = ''): Promise<void> {
    await this.#client.delete(parseResource(resource), { cluster: this.#cluster, namespace, name });
  }

  get #cluster(): LogicalClusterName {
    return this.path as LogicalClusterName;
  }

  async #kindOf({ apiVersion, kind }: KubeObject): Promise<Kind> {
    const root = apiVersion.includes('/') ? 'apis' : 'api';
    const list = (await this.#transport.json({
      method: 'GET',
      path: `/clusters/${this.path}/${root}/${apiVersion}`,
    })) as { resources?: { name: string; kind: string; namespaced: boolean }[] };
    const found = list.resources?.find((resource) => resource.kind === kind && !resource.name.includes('/'));
    if (found === undefined) throw new Error(`${this.path} does not serve the kind ${kind} of ${apiVersion}`);
    return { resource: parseResource(`${apiVersion}/${found.name}`), namespaced: found.namespaced };
  }
}
