import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AdmissionRound } from './admission-round.ts';

/** One write as admission sees it (K6.1). */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly definition: ResourceDefinition;
  readonly subresource: string;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  /** Empty while a generated name is not made yet. */
  readonly name: string;
  readonly user: UserInfo;
  /** The new object, in the version of the request; mutating plugins change it in place. Undefined for DELETE. */
  readonly object: KubeObject | undefined;
  /** Undefined for CREATE. */
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
  /** The options object of the request (`CreateOptions`, …) as JSON. */
  readonly options: DeepReadonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  /** The system makes an object with the status that it brings along. */
  readonly keepsStatus?: true | undefined;
  /** Aborts when nobody waits for the write any more; absent: never. */
  readonly signal?: AbortSignal | undefined;
  readonly warn: (text: string) => void;
  /** Tells the audit log, `Request`: only where it keeps requests; absent: nobody listens. */
  readonly annotate?: ((key: string, value: string, level?: 'Request') => void) | undefined;
}

/**
 * Looks at every write. `admit` runs before validation and may change the object; it runs again when a plugin asks the
 * round for that. `validate` runs in the write transaction, possibly several times, and may not change anything. Both
 * refuse by throwing a StatusError. What is over at once gives no promise: most plugins have nothing to say about most
 * writes, and each wait costs a turn.
 */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionAttributes['operation']): boolean;
  /**
   * False for kinds that the plugin has nothing to say about, whatever the write: it is not called for them. Asked once
   * per definition. Absent: it looks at all kinds.
   */
  concerns?(definition: ResourceDefinition): boolean;
  admit?(attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> | undefined;
  validate?(attributes: AdmissionAttributes): Promise<void> | undefined;
}
