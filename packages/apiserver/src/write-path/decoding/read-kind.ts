import type { Json, JsonObject, JsonTextDetails } from '@multiplane/apimachinery';
import { jsonType } from './object-meta-decoder.ts';

/** The kind and version that a body names. */
export interface KindHead {
  readonly apiVersion: string;
  readonly kind: string;
  /** Why they cannot be read. */
  readonly failure: string | undefined;
}

const fields: ReadonlyMap<string, 'apiVersion' | 'kind'> = new Map([
  ['APIVERSION', 'apiVersion'],
  ['KIND', 'kind'],
]);

/**
 * Reads kind and version as Kubernetes' serializer does before it decodes an object (SimpleMetaFactory of apimachinery): with
 * Go's own JSON decoder, to which `Kind` and `KIND` are the same name. The last text wins, and any other type is a failure.
 */
export function readKind(object: JsonObject, details?: JsonTextDetails): KindHead {
  const head = { apiVersion: '', kind: '' };
  let failure: string | undefined;
  const take = (name: string, value: Json): void => {
    if (name.length !== 4 && name.length !== 10) return;
    const field = fields.get(name.toUpperCase());
    if (field === undefined || value === null) return;
    if (typeof value === 'string') head[field] = value;
    else
      failure ??= `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go struct field .${field} of type string`;
  };
  const repeated = details?.repeats.get(object);
  if (repeated === undefined) for (const name in object) take(name, object[name] as Json);
  else for (const { name, value } of repeated) take(name, value);
  return { ...head, failure };
}
