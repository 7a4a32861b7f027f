import type {
  DeepReadonly,
  FieldError,
  GroupVersion,
  GroupVersionKind,
  KubeObject,
  LogicalClusterName,
  UserInfo,
} from '@multiplane/apimachinery';
import type { CompiledSchema, IsOverdue, MayCompile, PatchMeta } from '@multiplane/schema';
import type { TableConvertor } from './table-convertor.ts';
import type { WebhookClientConfig } from './webhook-client-config.ts';

/**
 * Validation that would block the event loop, run in a worker. The arguments must not change meanwhile. Clusters are served round-robin:
 * none waits for all that another has sent.
 */
export interface SlowChecks {
  /** Absent: the cost of rules is only limited per object. */
  readonly costs?: CelCosts | undefined;
  /**
   * All of {@link crdSpecErrors}; of an APIResourceSchema, {@link apiResourceSchemaErrors}; of a policy, {@link policyErrors};
   * of a configuration of webhooks, {@link validateWebhooks}.
   */
  definition(
    cluster: LogicalClusterName,
    crd: KubeObject,
    old: DeepReadonly<KubeObject> | undefined,
    request?: StrategyContext['request'],
  ): Promise<FieldError[]>;
  /**
   * A check that may have to compile patterns and rules before: if so it is made again, in turns of the event loop that
   * have time left for some of them, until it does not throw NotCompiled. `isOverdue` says that the turn is used up.
   */
  compiling<T>(check: (mayCompile: MayCompile, isOverdue: IsOverdue) => T): T | Promise<T>;
  /** `schema.validate` and the warnings of its rules. */
  object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    options: SlowCheckOptions,
  ): Promise<{ readonly errors: FieldError[]; readonly warnings: readonly string[]; readonly cost: number }>;
}

/** Limits what the CEL expressions of a logical cluster may cost. */
export interface CelCosts {
  /** Throws a 429 StatusError if the expressions of the logical cluster have used up their share. */
  check(cluster: LogicalClusterName, user: UserInfo): void;
  /** Cost units that were used. */
  charge(cluster: LogicalClusterName, units: number): void;
}

export interface SlowCheckOptions {
  readonly old?: DeepReadonly<KubeObject> | undefined;
  readonly subtree?: 'status' | undefined;
  readonly beside?: readonly FieldError[] | undefined;
  readonly metadataErrors?: readonly FieldError[] | undefined;
  readonly request?: StrategyContext['request'];
}

/** What a strategy may know of the request it works for. */
export interface StrategyContext {
  readonly user: UserInfo;
  readonly cluster: LogicalClusterName;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly now: () => Date;
  readonly dryRun: boolean;
  /** Adds a `Warning` header. */
  readonly warn: (text: string) => void;
  /** Aborts when the client disconnects; a slow check ends then. Reading `signal` creates it. */
  readonly request?: { readonly signal?: AbortSignal | undefined } | undefined;
  /** Absent: everything is checked at once. */
  readonly slowly?: SlowChecks | undefined;
  /** A write by the system itself brings the status along. */
  readonly keepsStatus?: boolean | undefined;
}

/** The calls of ValidateObjectMeta and ValidateObjectMetaUpdate in a kind's validation (upstream's pkg/apis/<group>/validation). */
export interface MetadataChecks {
  /** Unqualified finalizers must be Kubernetes' own, as the variant of pkg/apis/core demands. */
  readonly standardFinalizers: boolean;
  /** Order of the errors of a create: of metadata, and of the kind's own validation. Default: in this order. */
  readonly onCreate?: readonly ('object' | 'kind')[];
  /**
   * What is listed after the errors that the registry finds in metadata: the same errors again, as often as the kind's
   * validation asks, and between them those of its own rules, for objects (`kind`) and for changes (`change`). What is left
   * out of these two comes last.
   */
  readonly onUpdate: readonly ('object' | 'update' | 'kind' | 'change')[];
}

/**
 * What a kind does differently from every other, hook by hook, in the order in which the registry calls them
 * (`registry/rest` strategies of Kubernetes). Hooks change the object in place. Metadata is the registry's business.
 */
export interface Strategy {
  /** Messages for a bad name; `generateName` is checked with its trailing dash masked. */
  validateName(name: string): string[];
  /** PUT on a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** An update without resourceVersion is allowed. */
  readonly allowUnconditionalUpdate: boolean;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeletedObject: boolean;
  /** `metadata.generation` starts at 1 and rises with the spec; false: no generation unless the client sends one. */
  readonly managesGeneration: boolean;
  /** A change that raises the generation although the objects are equal once stored. */
  hasChanged?(object: KubeObject): boolean;
  /** False for events: a delete never adds garbage-collection finalizers. */
  readonly garbageCollected: boolean;
  /** What the kind's own validation asks of metadata, beyond what the registry checks of every kind. */
  readonly metadataChecks: MetadataChecks;
  /** Cached objects: finalizers belong to the original, a delete removes the cached object immediately. */
  readonly ignoresFinalizers?: boolean | undefined;
  /** A new object that brings its uid, generation and creation time along, as a copy does; absent: none does. */
  keepsIdentity?(object: KubeObject): boolean;
  /** A create of the same name replaces this object, in its place, instead of failing with AlreadyExists; absent: none. */
  givesWay?(existing: DeepReadonly<KubeObject>): boolean;
  /** Seconds until the object expires after its last write; undefined: never. */
  readonly ttlSeconds?: number | undefined;

  /** Fills in what depends on more than the schema (write-only fields, server-owned fields) and drops what a client may not set. */
  prepareForCreate(context: StrategyContext, object: KubeObject): void;
  /**
   * A promise where the check is a long one; the object does not change until it is there. `metadataErrors` are what is
   * wrong with the metadata; they are reported by the caller.
   */
  validate(
    context: StrategyContext,
    object: KubeObject,
    metadataErrors?: readonly FieldError[],
  ): FieldError[] | Promise<FieldError[]>;
  prepareForUpdate(context: StrategyContext, object: KubeObject, old: DeepReadonly<KubeObject>): void;
  validateUpdate(
    context: StrategyContext,
    object: KubeObject,
    old: DeepReadonly<KubeObject>,
  ): FieldError[] | Promise<FieldError[]>;
  /** Errors in what has changed, where they are listed apart from the others (see {@link MetadataChecks}). */
  validateChange?(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[];
  /** Texts for `Warning` headers; `old` is undefined on create. */
  warnings(context: StrategyContext, object: KubeObject, old: DeepReadonly<KubeObject> | undefined): string[];
  /** After validation: brings equal objects to equal bytes. */
  canonicalize(object: KubeObject): void;
  /** Marks an object whose deletion begins (Namespace: phase Terminating); called in the same write as deletionTimestamp. */
  beginDeletion?(context: StrategyContext, object: KubeObject): void;
  /** Finalizers that an object gets when its deletion begins, for those who have to look at it before it goes; absent: none. */
  finalizersOfDeletion?(object: DeepReadonly<KubeObject>): readonly string[];
  /** Something besides `metadata.finalizers` still holds the object (Namespace: spec.finalizers). */
  isHeld?(object: DeepReadonly<KubeObject>): boolean;
}

/** A subresource that reads and writes the parent's storage (`status`, `approval`, `finalize`). */
export interface ObjectSubresource {
  readonly type: 'object';
  readonly verbs: readonly Verb[];
  readonly strategy: Strategy;
  /** An apply to the subresource of a missing object creates the object. */
  readonly createsOnApply?: boolean | undefined;
  /** The schema part that validation looks at; absent: the whole object. */
  readonly validates?: 'status' | undefined;
}

/** `scale` by paths into the parent (dots, without a leading one: `spec.replicas`). */
export interface ScaleSubresource {
  readonly type: 'scale';
  readonly verbs: readonly Verb[];
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string | undefined;
}

/** Served by a handler that the server installs under `<resource>/<name of the subresource>` (`serviceaccounts/token`). */
export interface ConnectSubresource {
  readonly type: 'connect';
  readonly verbs: readonly Verb[];
  readonly kind: GroupVersionKind;
}
export type Subresource = ObjectSubresource | ScaleSubresource | ConnectSubresource;

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** Where the objects of a resource live. Versions of one resource, and core and events.k8s.io events, share one. */
export interface ResourceStorage extends GroupVersionKind {
  /** Resource prefix of the keys (see `storage/keys.ts`). */
  readonly prefix: string;
  /** In the keys the name of a shard comes before the cluster: one cluster is no prefix of its own (see `storage/cache-keys.ts`). */
  readonly acrossShards?: boolean | undefined;
}

/** Rewrites an object between a served version and the stored one; the registry sets apiVersion and kind itself. */
export interface VersionConverter {
  /** In place, request version → storage version. */
  toStorage(object: KubeObject): void;
  /** In place, storage version → request version. */
  fromStorage(object: KubeObject): void;
}

/**
 * A webhook that rewrites objects between the versions of a kind. Only what it is and where; the server asks it.
 */
export interface WebhookConversion {
  /** Changes with everything that may change what it answers, and differs between definitions. */
  readonly key: string;
  /** The logical cluster whose author named the webhook. */
  readonly tenant: string;
  readonly client: WebhookClientConfig;
  readonly reviewVersions: readonly string[];
}

/** Value of a field by the name a field selector uses for it; absent fields are the empty text. */
export type FieldSelectorLabels = Readonly<Record<string, (object: DeepReadonly<KubeObject>) => string>>;

/**
 * What a definition that brings back a kind of Kubernetes (`core/Pod`, `apps/Deployment`) has beyond its own schema: its
 * objects are known in protobuf, and strategic merge patches work.
 */
export interface NativeKind {
  readonly patchMeta: PatchMeta;
}

/** How an APIExport provides a resource without storing its objects in the consumers' logical clusters. */
export interface VirtualStorage {
  readonly export: { readonly cluster: LogicalClusterName; readonly name: string; readonly path: string };
  /** Identity hash of the APIExport. */
  readonly exportIdentity: string;
  /** Identity hash that the APIExport gives for the virtual resource. */
  readonly identityHash: string;
  /** The object with `status.endpoints[].url`, in the logical cluster of the APIExport. */
  readonly reference: { readonly apiGroup: string; readonly kind: string; readonly name: string };
}

/** A state of a CustomResourceDefinition; those of bound schemas are in `system:bound-crds`. */
export interface DefiningObject {
  readonly kind: 'CustomResourceDefinition';
  readonly cluster: string;
  readonly name: string;
  /** Changes with the spec. */
  readonly version: string;
}

/**
 * One served resource of one version: all that the request pipeline needs to know of a kind. Built-in kinds, CRDs,
 * bound APIs and virtual resources are the same thing here; there is no second code path.
 */
export interface ResourceDefinition extends GroupVersion {
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  /**
   * `built-in`: decoded as a typed object (kind and apiVersion may be left out of bodies, items of lists carry none, strategic merge patch works).
   * `custom`: unstructured (kind and apiVersion mandatory, items complete).
   */
  readonly origin: 'built-in' | 'custom';
  readonly schema: CompiledSchema;
  /** Of a custom resource that brings back a kind of Kubernetes. */
  readonly native?: NativeKind | undefined;
  readonly strategy: Strategy;
  readonly subresources: Readonly<Record<string, Subresource>>;
  readonly tableConvertor: TableConvertor;
  /** Beyond `metadata.name` and `metadata.namespace`. */
  readonly fieldSelectors: FieldSelectorLabels;
  /**
   * Absent for kinds that are never stored (reviews): the server installs a handler for their create.
   */
  readonly storage: ResourceStorage | undefined;
  /** Absent: same shape in storage as on the wire. */
  readonly converter?: VersionConverter | undefined;
  /**
   * Of the version that is stored: in place, what is still stored in another one → this version. Absent: nothing but the
   * version changes.
   */
  readonly fromOlder?: ((object: KubeObject) => void) | undefined;
  /** Present: a webhook converts objects that are stored in another version. Excludes a converter. */
  readonly conversion?: WebhookConversion | undefined;
  /**
   * Of kinds with several versions: the schema of each by its `apiVersion`. What is stored in another version is
   * defaulted in that one before it is converted, and not again after.
   */
  readonly schemaOf?: ((apiVersion: string) => CompiledSchema | undefined) | undefined;
  /** Warning for every request of a deprecated version. */
  readonly deprecationWarning?: string | undefined;
  /** Creates are refused with this text (a definition that is being deleted); discovery shrinks its verbs. */
  readonly terminating?: boolean | undefined;
  /**
   * Name of the export of `root` that offers the kind: served in a logical cluster only where a binding to it has
   * the resource. Absent: no binding is needed.
   */
  readonly exportedBy?: string | undefined;
  /** Of a resource that a binding brought: the identity of its export, under which the objects lie. */
  readonly bound?: { readonly identity: string } | undefined;
  /** Of a bound resource whose objects an endpoint outside of this shard serves (`storage.virtual` of its APIExport). */
  readonly virtual?: VirtualStorage | undefined;
  /** Of a custom resource: the state of the object that defines it. */
  readonly definedBy?: DefiningObject | undefined;
  /** Ends every watch that was started with the definition once it no longer holds. */
  readonly retired?: AbortSignal | undefined;
}
