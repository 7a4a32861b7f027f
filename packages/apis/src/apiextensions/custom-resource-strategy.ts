import {
  asJson,
  deepCopy,
  setOwn,
  type DeepReadonly,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { CompiledSchema } from '@multiplane/schema';
import { defaultStrategy, keepField, keepMetadata } from '../default-strategy.ts';
import { scaleSpecErrors, scaleStatusErrors, type ScaleRules } from './scale-rules.ts';
import type { Strategy } from '../resource-definition.ts';

interface CustomResourceRules {
  readonly schema: CompiledSchema;
  /** The version has a status subresource: then main endpoint and status endpoint write apart (K5.10). */
  readonly hasStatus: boolean;
  /** Paths of the scale subresource, with a leading dot as their definition has them. */
  readonly scale?: ScaleRules | undefined;
}

const json = (object: DeepReadonly<KubeObject>): JsonObject => asJson(object as KubeObject);

/** Names that say nothing of whose they are may clash with those of other writers (K5.7). */
function finalizerWarnings(object: KubeObject, old: DeepReadonly<KubeObject> | undefined): string[] {
  const before = old?.metadata.finalizers ?? [];
  return (object.metadata.finalizers ?? [])
    .filter(
      (name) => !before.includes(name) && !name.includes('/') && name !== 'orphan' && name !== 'foregroundDeletion',
    )
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
    );
}

/** What a write to a custom resource may change, and what is checked (K5.4, K5.7, K5.10). */
export function customResourceStrategy({ schema, hasStatus, scale }: CustomResourceRules): Strategy {
  return defaultStrategy({
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    prepareForCreate: (_context, object) => {
      if (hasStatus) delete object['status'];
    },
    validate: (_context, object): FieldError[] => [
      ...schema.validate(asJson(object)),
      ...scaleSpecErrors(object, scale),
      ...scaleStatusErrors(object, scale),
    ],
    prepareForUpdate: (_context, object, old) => {
      if (hasStatus) keepField(object, old, 'status');
    },
    validateUpdate: (_context, object, old): FieldError[] => [
      ...schema.validate(asJson(object), { old: json(old) }),
      ...scaleSpecErrors(object, scale),
      ...scaleStatusErrors(object, scale),
    ],
    warnings: (_context, object, old) => [...finalizerWarnings(object, old), ...schema.ruleWarnings(asJson(object))],
  });
}

/** The status endpoint: nothing but the status comes from the client, metadata and everything else stay (K5.10). */
export function customResourceStatusStrategy({ schema, scale }: CustomResourceRules): Strategy {
  return defaultStrategy({
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    prepareForUpdate: (_context, object, old) => {
      const before = deepCopy(json(old));
      for (const key of Object.keys(object)) if (key !== 'status' && key !== 'metadata') delete object[key];
      for (const key of Object.keys(before))
        if (key !== 'status' && key !== 'metadata') setOwn(asJson(object), key, before[key] ?? null);
      keepMetadata(object, old);
    },
    validateUpdate: (_context, object, old): FieldError[] => [
      ...schema.validate(asJson(object), { old: json(old), subtree: 'status' }),
      ...scaleStatusErrors(object, scale),
    ],
    warnings: (_context, object) => [...schema.ruleWarnings(asJson(object))],
  });
}
