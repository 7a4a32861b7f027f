import { type Json, type JsonObject, isJsonObject } from '@multiplane/apimachinery';
import type { ExpectedKind } from '../../write-path/decoding/expected-kind.ts';
import { UnmarshalError, jsonType } from '../../write-path/decoding/object-meta-decoder.ts';

const scaleFields: Readonly<Record<string, Readonly<Record<string, 'int32' | 'string'>>>> = {
  spec: { replicas: 'int32' },
  status: { replicas: 'int32', selector: 'string' },
};

/** autoscaling/v1 Scale as the kind of a body: two small structs, without a schema document. */
export const scaleKind: ExpectedKind = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  origin: 'built-in',
  schema: {
    decodeTyped(object) {
      for (const [part, fields] of Object.entries(scaleFields)) {
        const value = object[part];
        if (value === undefined) continue;
        if (value === null) {
          delete object[part];
          continue;
        }
        if (!isJsonObject(value)) throw mismatch(value, part, part === 'spec' ? 'v1.ScaleSpec' : 'v1.ScaleStatus');
        for (const [field, type] of Object.entries(fields)) {
          const inner = value[field];
          if (inner === undefined) continue;
          if (inner === null) delete value[field];
          else if (type === 'string' ? typeof inner !== 'string' : !isInt32(inner))
            throw mismatch(inner, `${part}.${field}`, type);
        }
      }
      return undefined;
    },
    // Scale has no strategic merge patch.
    convertTyped: () => undefined,
    prune(object) {
      const unknownFields: string[] = [];
      for (const key of Object.keys(object)) {
        if (key === 'kind' || key === 'apiVersion' || key === 'metadata') continue;
        const known = scaleFields[key];
        const value = object[key];
        if (known === undefined) {
          unknownFields.push(key);
          delete object[key];
        } else if (isJsonObject(value ?? null)) {
          for (const field of Object.keys(value as JsonObject)) {
            if (Object.hasOwn(known, field)) continue;
            unknownFields.push(`${key}.${field}`);
            delete (value as JsonObject)[field];
          }
        }
      }
      return { unknownFields };
    },
    coerce: () => undefined,
    applyDefaults: () => undefined,
  },
};

function isInt32(value: Json): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

function mismatch(value: Json, path: string, type: string): UnmarshalError {
  return new UnmarshalError(
    `json: cannot unmarshal ${jsonType(value)} into Go struct field Scale.${path} of type ${type}`,
  );
}
