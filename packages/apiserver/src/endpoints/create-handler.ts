import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestContext } from '@multiplane/generic-server';

/**
 * A decoded and pruned POST of a kind that is never stored (reviews), or to a connect subresource (`serviceaccounts/token`).
 * Handlers validate it by the strategy of its kind, because the messages of errors differ by kind.
 */
export interface CreateHandlerInput {
  readonly context: RequestContext;
  /** Of the parent for a subresource. */
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  /** Name of the parent for a subresource, else empty. */
  readonly name: string;
  readonly object: KubeObject;
  readonly dryRun: boolean;
  /** Runs validating admission; to be called after validation. Throws its rejection. */
  readonly admit: () => Promise<void>;
}

/** Returns the object of the 201 response. */
export type CreateHandler = (input: CreateHandlerInput) => Promise<KubeObject>;

/** Keys: `<group>/<resource>` or `<group>/<resource>/<subresource>` (core: empty group, `/serviceaccounts/token`). */
export type CreateHandlers = ReadonlyMap<string, CreateHandler>;
