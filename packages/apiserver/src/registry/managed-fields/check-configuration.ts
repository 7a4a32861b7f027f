import {
  type DeepReadonly,
  type JsonObject,
  apiVersionOf,
  getOwn,
  isJsonObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { FieldManagerKind } from './field-manager-request.ts';

/** Throws 400 unless an applied configuration has this kind and version, and no managedFields. */
export function checkConfiguration(definition: FieldManagerKind, config: DeepReadonly<JsonObject>): void {
  const apiVersion = textOf(config, 'apiVersion');
  const kind = textOf(config, 'kind');
  if (apiVersion !== apiVersionOf(definition) || kind !== definition.kind)
    throw statusErrors.badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
  const metadata = getOwn(config, 'metadata') ?? null;
  if (isJsonObject(metadata) && (getOwn(metadata, 'managedFields') ?? null) !== null)
    throw statusErrors.badRequest('metadata.managedFields must be nil');
}

/** An untyped 500, as Kubernetes returns: the configuration, or the live object, does not match the schema. */
export function typedFailure(
  what: 'patch' | 'live',
  object: DeepReadonly<JsonObject>,
  definition: FieldManagerKind,
  why: string,
): Error {
  const metadata = getOwn(object, 'metadata') ?? null;
  const part = (field: string): string => (isJsonObject(metadata) ? textOf(metadata, field) : '');
  return statusErrors.untyped(
    `failed to create typed ${what} object (${part('namespace')}/${part('name')}; ${kindText(apiVersionOf(definition), definition.kind)}): ${why}`,
  );
}

/** A kind with its version as Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Secret`. */
function kindText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

function textOf(object: DeepReadonly<JsonObject>, field: string): string {
  const value = getOwn(object, field);
  return typeof value === 'string' ? value : '';
}
