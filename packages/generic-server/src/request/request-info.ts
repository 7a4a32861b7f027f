import type { LogicalClusterName } from '@multiplane/apimachinery';

/** A request classified by method and path, like `request.RequestInfo` of kube-apiserver. Authorization, audit and metrics read it. */
export interface RequestInfo {
  /** The path without `/clusters/<x>`, not decoded. */
  readonly path: string;
  /** The parsed query; repeated parameters keep their order. */
  readonly query: URLSearchParams;
  /** The logical cluster; `*` for all of them; undefined if the request names none. */
  readonly cluster: LogicalClusterName | '*' | undefined;
  readonly isResourceRequest: boolean;
  /** get, list, watch, create, update, patch, delete, deletecollection; for other requests the method in lower case. */
  readonly verb: string;
  /** `api` or `apis`; empty for non-resource requests, like everything below. */
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  /** Identity hash of the APIExport in `<resource>:<identity>`, set after authorization. */
  readonly identity?: string | undefined;
  readonly subresource: string;
  readonly name: string;
  /** Decoded path segments after the resource, name and subresource included. */
  readonly parts: readonly string[];
  /** Of a non-resource request: it lasts as long as the client wants, like a watch. */
  readonly isStream?: boolean | undefined;
}
