import type { LogicalClusterName } from '@multiplane/apimachinery';

/** What a request wants, by its method and path alone (K1.1, C1.4): authorization, audit and metrics see the same. */
export interface RequestInfo {
  /** The path without `/clusters/<x>`, still encoded as it came. */
  readonly path: string;
  /** Parsed query. Repeated parameters keep their order. */
  readonly query: URLSearchParams;
  /** The logical cluster; `*` for all; undefined when the path names none. */
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
  /** Identity of the export that the resource is wanted of, once the resource is told apart from it (C4.3). */
  readonly identity?: string | undefined;
  readonly subresource: string;
  readonly name: string;
  /** Decoded path segments after the resource, name and subresource included. */
  readonly parts: readonly string[];
}
