import type { DeepReadonly, GroupResource, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition, SlowChecks, Strategy, StrategyContext } from '@multiplane/apis';
import type { AdmissionAttributes } from '../admission/plugin.ts';
import type { Attempted } from './guaranteed-update.ts';

/** One write, as it came through the handler chain. */
export interface WriteRequest {
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** Name in the URL; empty for a create. */
  readonly name: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Who the fields belong to that the write sets (K4.8); empty: nobody told. */
  readonly fieldManager: string;
  /** The options object as admission sees it. */
  readonly options: DeepReadonly<Record<string, unknown>>;
  /** The status that an object brings along is written with it; the system's own writes alone. */
  readonly keepsStatus?: true | undefined;
  /** Aborts when nobody waits for the answer any more: retries stop. */
  readonly signal: AbortSignal;
  warn(text: string): void;
  /** Tells the audit log, `Request`: only where it keeps requests; absent: nobody listens. */
  annotate?(key: string, value: string, level?: 'Request'): void;
}

/** What became of a write. */
export interface Written extends Attempted {
  /** In the version of the request, with its resourceVersion. Frozen once it is handed out. */
  readonly object: DeepReadonly<KubeObject>;
  /** The stored bytes when they are what the client gets; together with `revision` the cheapest answer. */
  readonly bytes: Buffer | undefined;
  readonly revision: number;
  readonly created: boolean;
}

export function groupResourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

/** The strategy that rules a write: of the subresource, or of the kind (scale writes through the kind's). */
export function strategyOf(request: Pick<WriteRequest, 'definition' | 'subresource'>): Strategy {
  const subresource = request.subresource === '' ? undefined : request.definition.subresources[request.subresource];
  return subresource?.type === 'object' ? subresource.strategy : request.definition.strategy;
}

export function strategyContext(request: WriteRequest, now: () => Date, slowly?: SlowChecks): StrategyContext {
  return {
    user: request.user,
    cluster: request.cluster,
    namespace: request.namespace,
    dryRun: request.dryRun,
    now,
    warn: (text) => request.warn(text),
    ...(request.keepsStatus === true ? { keepsStatus: true } : {}),
    ...(slowly === undefined ? {} : { slowly }),
  };
}

export function admissionAttributes(
  request: WriteRequest,
  operation: AdmissionAttributes['operation'],
  name: string,
  object: KubeObject | undefined,
  oldObject: DeepReadonly<KubeObject> | undefined,
): AdmissionAttributes {
  return new RequestAttributes(request, operation, name, object, oldObject);
}

/** A class, not a literal: a getter in a literal is defined anew for each write, which costs more than all else here. */
class RequestAttributes implements AdmissionAttributes {
  readonly operation: AdmissionAttributes['operation'];
  readonly definition: ResourceDefinition;
  readonly subresource: string;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly object: KubeObject | undefined;
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
  readonly options: DeepReadonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly keepsStatus: true | undefined;
  readonly warn: AdmissionAttributes['warn'];
  readonly annotate: AdmissionAttributes['annotate'];
  readonly #request: WriteRequest;

  constructor(
    request: WriteRequest,
    operation: AdmissionAttributes['operation'],
    name: string,
    object: KubeObject | undefined,
    oldObject: DeepReadonly<KubeObject> | undefined,
  ) {
    this.operation = operation;
    this.definition = request.definition;
    this.subresource = request.subresource;
    this.cluster = request.cluster;
    this.namespace = request.namespace;
    this.name = name;
    this.user = request.user;
    this.object = object;
    this.oldObject = oldObject;
    this.options = request.options;
    this.dryRun = request.dryRun;
    this.keepsStatus = request.keepsStatus;
    this.warn = (text) => request.warn(text);
    this.annotate = (key, value, level) => request.annotate?.(key, value, level);
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }
}
