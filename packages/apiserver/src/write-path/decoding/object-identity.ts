import { type KubeObject, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/** Throws 400 unless the name in the body is that of the URL. */
export function checkName(request: { readonly name: string }, object: KubeObject): void {
  const name = object.metadata.name ?? '';
  if (name === '') {
    throw statusErrors.badRequest(
      `the name of the object (${request.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== request.name) {
    throw statusErrors.badRequest(
      `the name of the object (${name}) does not match the name on the URL (${request.name})`,
    );
  }
}

/** Throws 400 if the body names another namespace than the URL. Sets an absent one; removes that of cluster-scoped objects. */
export function checkNamespace(
  request: { readonly definition: ResourceDefinition; readonly namespace: string },
  object: KubeObject,
): void {
  const { metadata } = object;
  if (!request.definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if ((metadata.namespace ?? '') === '') metadata.namespace = request.namespace;
  else if (metadata.namespace !== request.namespace) {
    throw statusErrors.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
}
