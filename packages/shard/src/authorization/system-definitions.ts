import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from '@multiplane/apiserver';

/** Status that only the control plane writes; whoever could would raise itself. */
const ownStatus: ReadonlyMap<string, string> = new Map([
  ['apibindings', 'apibinding status updates not permitted'],
  ['apiexports', 'apiexport status updates not permitted'],
]);

/** Keeps the status of bindings and exports from everybody (C7.7 `03-systemcrd`). */
export class SystemDefinitionsAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { isResourceRequest, group, resource, subresource } = attributes;
    const refusal =
      isResourceRequest && group === 'apis.kcp.io' && subresource === 'status' ? ownStatus.get(resource) : undefined;
    return refusal === undefined
      ? this.#delegate.authorize(attributes)
      : Promise.resolve({ decision: 'deny', reason: refusal });
  }
}
