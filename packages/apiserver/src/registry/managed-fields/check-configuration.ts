import {
  type Json,
  type DeepReadonly,
  type JsonObject,
  apiVersionOf,
  getOwn,
  isJsonObject,
  parseApiVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import type { FieldManagerKind } from './field-manager-request.ts';

/** Throws 400 unless an applied configuration has this kind and version, and no managedFields. */
export function checkConfiguration(definition: FieldManagerKind, config: DeepReadonly<JsonObject>): void {
  const apiVersion = textOf(config, 'apiVersion');
  const kind = textOf(config, 'kind');
  if (apiVersion.replace(/^\//, '') !== apiVersionOf(definition) || kind !== definition.kind)
    throw statusErrors.badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
  const metadata = getOwn(config, 'metadata') ?? null;
  if (isJsonObject(metadata) && hasManagedFields(getOwn(metadata, 'managedFields')))
    throw statusErrors.badRequest('metadata.managedFields must be nil');
}

/** An untyped 500, as Kubernetes returns: the configuration, or the live object, does not match the schema. */
export function typedFailure(
  what: 'patch' | 'live',
  object: DeepReadonly<JsonObject>,
  definition: FieldManagerKind,
  why: string,
): Error {
  return statusErrors.untyped(`failed to create typed ${what} object (${identityText(object, definition)}): ${why}`);
}

/** An untyped 500, as Kubernetes returns: an object without managers, whose fields the first apply assigns, does not match. */
export function existingFieldsFailure(
  live: DeepReadonly<JsonObject>,
  definition: FieldManagerKind,
  why: string,
): Error {
  return statusErrors.untyped(
    `failed to create manager for existing fields: failed to convert new object (${identityText(live, definition)}) to smd typed: ${why}`,
  );
}

/** An untyped 500, as Kubernetes returns: a value of the merged object cannot be decoded as its type, such as a time. */
export function conversionFailure(
  config: DeepReadonly<JsonObject>,
  kind: Pick<FieldManagerKind, 'group' | 'version' | 'kind'>,
  why: string,
): Error {
  const target = kindText(apiVersionOf(kind), kind.kind);
  return statusErrors.untyped(
    `failed to convert new object (${identityText(config, kind)}) to proper version: unable to convert unstructured object to ${target}: ${why}`,
  );
}

/** Namespace, name and kind of an object, as far as it says them. */
function identityText(
  object: DeepReadonly<JsonObject>,
  kind: Pick<FieldManagerKind, 'group' | 'version' | 'kind'>,
): string {
  const metadata = getOwn(object, 'metadata') ?? null;
  const part = (field: string): string => (isJsonObject(metadata) ? textOf(metadata, field) : '');
  return `${part('namespace')}/${part('name')}; ${kindText(apiVersionOf(kind), kind.kind)}`;
}

/** A kind with its version as Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Secret`. */
function kindText(apiVersion: string, kind: string): string {
  // An apiVersion that cannot be parsed takes the kind with it.
  if (parseApiVersion(apiVersion) === undefined && apiVersion !== '/') return '/, Kind=';
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

function textOf(object: DeepReadonly<JsonObject>, field: string): string {
  const value = getOwn(object, field);
  return typeof value === 'string' ? value : '';
}

/** Entries that cannot be read are none for this check: the schema refuses them later. */
function hasManagedFields(value: DeepReadonly<Json> | undefined): boolean {
  if (!Array.isArray(value)) return false;
  return value.every(
    (entry: Json) =>
      isJsonObject(entry) &&
      ['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'subresource'].every((field) => {
        const text = getOwn(entry, field) ?? null;
        return text === null || typeof text === 'string';
      }),
  );
}
