import type {
  GroupVersionResource,
  JsonObject,
  KubeList,
  KubeObject,
  LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectReference } from './lister.ts';

export interface WriteRequestOptions {
  readonly fieldManager?: string | undefined;
  readonly dryRun?: boolean | undefined;
  /** The caller ignores the result, which may then be the object that was sent; saves a copy in process. */
  readonly discardResult?: true | undefined;
  /** `Prefer: wait` (RFC 7240): the server may delay the response until a new object is ready. Servers may ignore it. */
  readonly waitSeconds?: number | undefined;
}
export interface DeleteRequestOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}
export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/**
 * Reads and writes objects through the API, with admission and validation. Implemented in process by the API server's
 * loopback client and over HTTPS by `RestClient`. Failures are `StatusError`s.
 */
export interface ObjectClient {
  get(resource: GroupVersionResource, reference: ObjectReference): Promise<KubeObject>;
  list(
    resource: GroupVersionResource,
    scope: {
      readonly cluster: LogicalClusterName | '*';
      readonly namespace?: string | undefined;
      readonly labelSelector?: string | undefined;
    },
  ): Promise<KubeList>;
  create(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options?: WriteRequestOptions,
  ): Promise<KubeObject>;
  update(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options?: WriteRequestOptions & { readonly subresource?: string | undefined },
  ): Promise<KubeObject>;
  patch(
    resource: GroupVersionResource,
    reference: ObjectReference,
    type: PatchType,
    patch: JsonObject | JsonObject[],
    options?: WriteRequestOptions & { readonly subresource?: string | undefined; readonly force?: boolean | undefined },
  ): Promise<KubeObject>;
  delete(resource: GroupVersionResource, reference: ObjectReference, options?: DeleteRequestOptions): Promise<void>;
  deleteCollection(
    resource: GroupVersionResource,
    scope: { readonly cluster: LogicalClusterName; readonly namespace?: string | undefined },
    options?: DeleteRequestOptions,
  ): Promise<void>;
}
