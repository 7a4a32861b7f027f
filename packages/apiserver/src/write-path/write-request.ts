import type { DeepReadonly, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { StoredFields } from './stored-fields.ts';

/** One create, update, patch, apply or delete, after the handler chain. */
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
  /** The manager that owns the fields set by this write; empty if the client names none. */
  readonly fieldManager: string;
  /** The options object (`CreateOptions`, …) that admission receives. */
  readonly options: DeepReadonly<Record<string, unknown>>;
  /** The write includes `status`; only for the server's own writes. */
  readonly keepsStatus?: true | undefined;
  /** The protected fields of the object, set by each attempt; undefined: it has none. */
  storedFields?: StoredFields | undefined;
  /** Aborts when the client disconnects or the deadline expires; conflicts are not retried afterwards. */
  readonly signal: AbortSignal;
  /** The work for this write. */
  readonly work: RequestWork;
  /** Adds a `Warning` header. */
  warn(text: string): void;
  /** Adds an audit annotation; `Request`: only at audit level Request and above. Absent without auditing. */
  annotate?(key: string, value: string, level?: 'Request'): void;
}
