import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { StoredFields } from '../write-path/stored-fields.ts';
import type { ReinvocationContext } from './reinvocation-context.ts';

/** A write request for admission plugins (admission.Attributes in k8s.io/apiserver). */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly definition: ResourceDefinition;
  readonly subresource: string;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  /** Empty while the name is not generated yet. */
  readonly name: string;
  readonly user: UserInfo;
  /** The new object, in the version of the request; mutating plugins change it in place. Undefined for DELETE. */
  readonly object: KubeObject | undefined;
  /** Undefined for CREATE. */
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
  /** The protected fields of the object, as they are stored; absent: it has none. */
  readonly storedFields?: StoredFields | undefined;
  /** The options object of the request (`CreateOptions`, …) as JSON. */
  readonly options: DeepReadonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  /** A system write that keeps the status of the created object. */
  readonly keepsStatus?: true | undefined;
  /** Aborts when the request ends; absent: never. */
  readonly signal?: AbortSignal | undefined;
  /** The work for the write; absent: its object is small. */
  readonly work?: RequestWork | undefined;
  readonly warn: (text: string) => void;
  /**
   * Adds an audit annotation; with level `Request` only if the audit policy records requests. Absent: requests are not
   * audited.
   */
  readonly annotate?: ((key: string, value: string, level?: 'Request') => void) | undefined;
}

/**
 * An admission plugin. `admit` runs before validation and may change the object; it runs again if a plugin requests a
 * reinvocation. `validate` runs within the write transaction, possibly several times, and must not change anything.
 * Both deny a request by throwing a StatusError. They return undefined when they complete synchronously, which saves an
 * event-loop tick for the many plugins that do not apply to a write.
 */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionAttributes['operation']): boolean;
  /**
   * False for kinds that the plugin never handles; it is not called for them. Evaluated once per definition. Absent:
   * all kinds.
   */
  concerns?(definition: ResourceDefinition): boolean;
  admit?(attributes: AdmissionAttributes, round: ReinvocationContext): Promise<void> | undefined;
  validate?(attributes: AdmissionAttributes): Promise<void> | undefined;
}
