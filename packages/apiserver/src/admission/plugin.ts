import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

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
  warn(text: string): void;
}

/**
 * Looks at every write. `admit` runs once before validation and may change the object; `validate` runs in the write
 * transaction, possibly several times, and may not. Both refuse by throwing a StatusError.
 */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionAttributes['operation']): boolean;
  admit?(attributes: AdmissionAttributes): Promise<void>;
  validate?(attributes: AdmissionAttributes): Promise<void>;
}
