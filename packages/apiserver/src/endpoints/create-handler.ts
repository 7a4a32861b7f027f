import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestContext } from '../request-context.ts';

/** A POST on a kind that is never stored (reviews) or on a connect subresource (`serviceaccounts/token`), decoded and pruned. Values are not validated yet:
 * each handler calls its kind's `strategy.validate`, because the texts of refusals differ by kind. */
export interface CreateHandlerInput {
  readonly context: RequestContext;
  /** For a subresource: of the parent. */
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  /** Name of the parent for a subresource, else empty. */
  readonly name: string;
  readonly object: KubeObject;
  readonly dryRun: boolean;
  /** Throws what validating admission refuses; call it when everything else about the object is well. */
  readonly admit: () => Promise<void>;
}

/** Answers with the object that goes back with 201. */
export type CreateHandler = (input: CreateHandlerInput) => Promise<KubeObject>;

/** Keys: `<group>/<resource>` or `<group>/<resource>/<subresource>` (core: empty group, `/serviceaccounts/token`). */
export type CreateHandlers = ReadonlyMap<string, CreateHandler>;
