import { type StatusCause, type StatusError, statusErrors } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from './plugin.ts';

/** The refusal of a plugin: 403 about the object, by whatever name it has already (K6.1). */
export function admissionForbidden(attributes: AdmissionAttributes, why: string, causes?: StatusCause[]): StatusError {
  const { definition, object } = attributes;
  const metadata = object?.metadata;
  const name =
    [attributes.name, metadata?.name, metadata?.generateName].find((text) => text !== undefined && text !== '') ??
    'Unknown';
  return statusErrors.forbidden({ group: definition.group, resource: definition.resource }, name, why, causes);
}
