import { type StatusCause, type StatusError, statusErrors } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from './plugin.ts';

/** The error of a plugin that denies a request: 403 with the object's name or generateName. */
export function admissionForbidden(attributes: AdmissionAttributes, why: string, causes?: StatusCause[]): StatusError {
  const { definition, object } = attributes;
  const metadata = object?.metadata;
  const name =
    [attributes.name, metadata?.name, metadata?.generateName].find((text) => text !== undefined && text !== '') ??
    'Unknown';
  return statusErrors.forbidden({ group: definition.group, resource: definition.resource }, name, why, causes);
}
