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
  /** Nobody looks at the answer: then it may be what was sent. Of a write inside the server no copy is made for it. */
  readonly unread?: true | undefined;
  /** The answer may wait so long for what becomes of a new object (RFC 7240); who knows nothing of it answers at once. */
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
 * Reads and writes objects through the API, whole pipeline included (admission, validation). The same interface is
 * served in process by the API server and over HTTPS by {@link RestClient}. Failures are `StatusError`s.
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
