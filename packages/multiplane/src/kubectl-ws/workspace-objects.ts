import { encodeJson, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { resourcePath, type RestTransport } from '@multiplane/client';

/** An object in the workspace with this path. */
export interface WorkspaceObjectReference {
  readonly workspace: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

interface Page<T> {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly T[];
}

/** Objects of any kind, by workspace path. */
export class WorkspaceObjects {
  readonly #transport: RestTransport;
  readonly #fieldManager: string;
  constructor(options: { readonly fieldManager: string }, modules: { readonly transport: RestTransport }) {
    this.#fieldManager = options.fieldManager;
    this.#transport = modules.transport;
  }

  get<T extends KubeObject>(resource: GroupVersionResource, reference: WorkspaceObjectReference): Promise<T> {
    return this.#request('GET', pathOf(resource, reference));
  }

  async list<T extends KubeObject>(resource: GroupVersionResource, workspace: string): Promise<readonly T[]> {
    const list = await this.#request<{ readonly items?: readonly T[] }>('GET', pathOf(resource, { workspace }));
    return list.items ?? [];
  }

  /** All objects in pages, so that the number of them does not matter. */
  async *pages<T extends KubeObject>(
    resource: GroupVersionResource,
    workspace: string,
    { fieldSelector = '' }: { readonly fieldSelector?: string | undefined } = {},
  ): AsyncGenerator<T> {
    const path = pathOf(resource, { workspace });
    let token = '';
    do {
      const query = new URLSearchParams({ limit: '500', fieldSelector, continue: token });
      const page = await this.#request<Page<T>>('GET', `${path}?${query.toString()}`);
      yield* page.items ?? [];
      token = page.metadata?.continue ?? '';
    } while (token !== '');
  }

  /** The version that the workspace prefers; `v1` for the core group. */
  async preferredVersion(group: string, workspace: string): Promise<string> {
    if (group === '') return 'v1';
    const path = `/clusters/${workspace}/apis/${group}`;
    const { preferredVersion } = await this.#request<{ readonly preferredVersion?: { readonly version: string } }>(
      'GET',
      path,
    );
    return preferredVersion?.version ?? 'v1';
  }

  create<T extends KubeObject>(resource: GroupVersionResource, workspace: string, object: T): Promise<T> {
    const path = pathOf(resource, { workspace, namespace: object.metadata.namespace });
    return this.#request('POST', this.#withFieldManager(path), object);
  }

  update<T extends KubeObject>(resource: GroupVersionResource, workspace: string, object: T): Promise<T> {
    const { namespace, name } = object.metadata;
    return this.#request('PUT', this.#withFieldManager(pathOf(resource, { workspace, namespace, name })), object);
  }

  async delete(resource: GroupVersionResource, reference: WorkspaceObjectReference): Promise<void> {
    await this.#request('DELETE', pathOf(resource, reference));
  }

  #withFieldManager(path: string): string {
    return `${path}?fieldManager=${this.#fieldManager}`;
  }

  async #request<T>(method: string, path: string, body?: KubeObject): Promise<T> {
    const text = body === undefined ? undefined : encodeJson(body);
    return (await this.#transport.json({ method, path, body: text })) as unknown as T;
  }
}

function pathOf(
  resource: GroupVersionResource,
  { workspace, ...rest }: Omit<WorkspaceObjectReference, 'name'> & { readonly name?: string | undefined },
): string {
  return resourcePath(resource, { cluster: workspace, ...rest });
}
