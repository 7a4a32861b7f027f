import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, isStatusError, type Json, type JsonObject } from '@multiplane/apimachinery';
import { RestTransport, type ClientConfig } from '@multiplane/client';
import { WorkspaceObjects } from './workspace-objects.ts';

const homeTimeoutMs = 60_000;
const tenancy = '/apis/tenancy.kcp.io/v1alpha1/workspaces';

/** The fields of a Workspace that the plugin uses. */
export interface WorkspaceView {
  readonly name: string;
  readonly type: string | undefined;
  readonly phase: string;
  /** The first workspace condition that is False. */
  readonly unmetCondition:
    | { readonly text: string; /** Severity Error: needs a change by the user. */ readonly isError: boolean }
    | undefined;
  readonly url: string;
  readonly isDeleting: boolean;
  /** Whether it is a mount. */
  readonly isMounted: boolean;
}

/** Requests of the plugin to the server of the current context, for any workspace. */
export class WorkspaceClient {
  readonly #transport: RestTransport;
  /** Objects of other kinds than Workspace. */
  readonly objects: WorkspaceObjects;
  constructor(options: {
    readonly config: ClientConfig;
    readonly userAgent: string;
    /** A response without data for this time fails; by default there is no limit. */
    readonly idleTimeoutMs?: number;
  }) {
    this.#transport = new RestTransport(options);
    this.objects = new WorkspaceObjects({ fieldManager: 'kubectl-kcp' }, { transport: this.#transport });
  }

  /** Origin of the server, without a path. */
  get origin(): string {
    return this.#transport.origin;
  }

  /** Undefined when it does not exist. */
  async get(parent: string, name: string): Promise<WorkspaceView | undefined> {
    try {
      return view(await this.#json('GET', parent, `${tenancy}/${encodeURIComponent(name)}`));
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return undefined;
      throw error;
    }
  }

  async list(parent: string): Promise<WorkspaceView[]> {
    const answer = await this.#json('GET', parent, tenancy);
    const items = isJsonObject(answer) && Array.isArray(answer['items']) ? answer['items'] : [];
    return items.map(view);
  }

  async create(parent: string, name: string, spec: JsonObject): Promise<WorkspaceView> {
    const body = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
    return view(await this.#json('POST', parent, `${tenancy}?fieldManager=kubectl-create-workspace`, body));
  }

  /** Whether the user has access to a workspace; 403 and 404 mean no. */
  async canAccess(path: string): Promise<boolean> {
    try {
      await this.#json('GET', path, '/api');
      return true;
    } catch (error) {
      if (isStatusError(error) && (error.code === 403 || error.code === 404)) return false;
      throw error;
    }
  }

  /** The APIBindings of a workspace; none when the user may not list them. */
  async bindings(path: string): Promise<JsonObject[]> {
    try {
      const answer = await this.#json('GET', path, '/apis/apis.kcp.io/v1alpha2/apibindings');
      return isJsonObject(answer) && Array.isArray(answer['items']) ? answer['items'].filter(isJsonObject) : [];
    } catch (error) {
      if (isStatusError(error) && (error.code === 403 || error.code === 404)) return [];
      throw new Error(`error checking APIBindings: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Phase of a logical cluster; undefined when the user may not read it. */
  async clusterPhase(path: string): Promise<string | undefined> {
    try {
      const object = await this.#json('GET', path, '/apis/core.kcp.io/v1alpha1/logicalclusters/cluster');
      const status = isJsonObject(object) ? (object['status'] ?? null) : null;
      return isJsonObject(status) && typeof status['phase'] === 'string' ? status['phase'] : undefined;
    } catch (error) {
      if (isStatusError(error)) return undefined;
      throw error;
    }
  }

  /** Path of the user's home workspace. */
  async home(): Promise<string> {
    const { url } = view(await this.#getWithRetryAfter('root', `${tenancy}/~`));
    const at = url.indexOf('/clusters/');
    if (at < 0) throw new Error('the server does not offer home workspaces');
    return url.slice(at + '/clusters/'.length);
  }

  /** Version of the server, as in `/version`. */
  async serverVersion(): Promise<string> {
    const answer = await this.#transport.json({ method: 'GET', path: '/version' });
    const version = isJsonObject(answer) ? answer['gitVersion'] : undefined;
    if (typeof version !== 'string')
      throw new Error(`${this.origin} does not report a version: it is no Kubernetes API`);
    return version;
  }

  /** Name and groups of the user, as a workspace authenticates the credentials. */
  async user(workspace: string): Promise<{ readonly name: string; readonly groups: readonly string[] }> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await this.#json('POST', workspace, '/apis/authentication.k8s.io/v1/selfsubjectreviews', body);
    const status =
      isJsonObject(answer) && isJsonObject(answer['status'] ?? null) ? (answer['status'] as JsonObject) : {};
    const info = isJsonObject(status['userInfo'] ?? null) ? (status['userInfo'] as JsonObject) : {};
    const groups = Array.isArray(info['groups']) ? info['groups'].filter((group) => typeof group === 'string') : [];
    return { name: typeof info['username'] === 'string' ? info['username'] : '', groups };
  }

  close(): void {
    this.#transport.close();
  }

  /** A home workspace is created by the first request, which gets 429 with Retry-After until it is ready. */
  async #getWithRetryAfter(workspace: string, path: string): Promise<Json> {
    const deadline = Date.now() + homeTimeoutMs;
    for (;;) {
      try {
        return await this.#json('GET', workspace, path);
      } catch (error) {
        if (!isStatusError(error, 'TooManyRequests') || Date.now() > deadline) throw error;
        await delay((error.details?.retryAfterSeconds ?? 1) * 1000);
      }
    }
  }

  #json(method: string, workspace: string, path: string, body?: JsonObject): Promise<Json> {
    return this.#transport.json({
      method,
      path: `/clusters/${workspace}${path}`,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }
}

function view(value: Json): WorkspaceView {
  const object = isJsonObject(value) ? value : {};
  const part = (key: string): JsonObject => (isJsonObject(object[key] ?? null) ? (object[key] as JsonObject) : {});
  const { metadata, spec, status } = { metadata: part('metadata'), spec: part('spec'), status: part('status') };
  const type = isJsonObject(spec['type'] ?? null) ? (spec['type'] as JsonObject) : undefined;
  const typeName = typeof type?.['name'] === 'string' ? type['name'] : undefined;
  return {
    name: typeof metadata['name'] === 'string' ? metadata['name'] : '',
    type:
      typeName === undefined
        ? undefined
        : typeof type?.['path'] === 'string' && type['path'] !== ''
          ? `${type['path']}:${typeName}`
          : typeName,
    phase: typeof status['phase'] === 'string' ? status['phase'] : '',
    unmetCondition: unmetConditionOf(status['conditions']),
    url: typeof spec['URL'] === 'string' ? spec['URL'] : '',
    isDeleting: metadata['deletionTimestamp'] !== undefined,
    isMounted: spec['mount'] !== undefined,
  };
}

function unmetConditionOf(conditions: Json | undefined): WorkspaceView['unmetCondition'] {
  const unmet = (Array.isArray(conditions) ? conditions : [])
    .filter(isJsonObject)
    .find(({ type, status }) => typeof type === 'string' && type.startsWith('Workspace') && status === 'False');
  if (unmet === undefined) return undefined;
  const [message, reason] = [unmet['message'], unmet['reason']].map((text) => (typeof text === 'string' ? text : ''));
  return { text: `${message} (${reason})`, isError: unmet['severity'] === 'Error' };
}
