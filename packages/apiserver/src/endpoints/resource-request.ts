import {
  type DeepReadonly,
  type LogicalClusterName,
  type UserInfo,
  type WriteOptions,
  fieldManagerFromUserAgent,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { RequestContext } from '@multiplane/generic-server';
import type { StoredFields } from '../write-path/stored-fields.ts';
import type { WriteRequest } from '../write-path/write-request.ts';

/** A request for a resource that is served in the requested scope. */
export interface ResourceRequest {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  /** `*` only for lists and watches. */
  readonly cluster: LogicalClusterName | '*';
  /** Empty for cluster-scoped kinds and for lists over all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** The write request of an HTTP request. */
export class HttpWriteRequest implements WriteRequest {
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly options: DeepReadonly<Record<string, unknown>>;
  storedFields: StoredFields | undefined = undefined;
  readonly #context: RequestContext;

  constructor(request: ResourceRequest, dryRun: boolean, options: DeepReadonly<Record<string, unknown>>) {
    this.definition = request.definition;
    this.cluster = request.cluster as LogicalClusterName;
    this.namespace = request.namespace;
    this.name = request.name;
    this.subresource = request.subresource;
    this.user = request.context.user;
    this.dryRun = dryRun;
    this.options = options;
    this.#context = request.context;
  }

  /** The `fieldManager` parameter, else derived from the User-Agent, as Kubernetes does. */
  get fieldManager(): string {
    const named = this.options['fieldManager'];
    if (typeof named === 'string') return named;
    const agent = this.#context.exchange.headers['user-agent'];
    return typeof agent === 'string' ? fieldManagerFromUserAgent(agent) : '';
  }

  /** Creates an AbortController on first use; most writes never need it. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get work(): RequestWork {
    return this.#context.work;
  }

  warn(text: string): void {
    this.#context.warn(text);
  }

  annotate(key: string, value: string, level?: 'Request'): void {
    this.#context.audit?.annotate(key, value, level);
  }
}

/** The options object of a write for admission (`CreateOptions`, `UpdateOptions`, `PatchOptions`). */
export function optionsObject(kind: string, options: WriteOptions): DeepReadonly<Record<string, unknown>> {
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
    ...(options.fieldManager === '' ? {} : { fieldManager: options.fieldManager }),
    fieldValidation: options.fieldValidation,
  };
}
