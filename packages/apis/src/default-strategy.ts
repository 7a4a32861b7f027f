import { asJson, deepCopy, getOwn, setOwn, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { subdomainName } from './name-rules.ts';
import type { ObjectSubresource, Strategy } from './resource-definition.ts';

const nothing = (): void => undefined;
const none = (): never[] => [];

/** What most kinds do: DNS subdomain names, unconditional updates, no generation; a kind overrides what differs. */
export function defaultStrategy(overrides: Partial<Strategy> = {}): Strategy {
  return {
    validateName: subdomainName,
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: true,
    returnsDeletedObject: false,
    managesGeneration: false,
    garbageCollected: true,
    metadataChecks: { standardFinalizers: true, onUpdate: ['object', 'update'] },
    prepareForCreate: nothing,
    validate: none,
    prepareForUpdate: nothing,
    validateUpdate: none,
    warnings: none,
    canonicalize: nothing,
    ...overrides,
  };
}

/**
 * The `status` endpoint of a built-in kind. It keeps the spec, and labels, annotations, finalizers and owners with it;
 * a kind overrides what differs.
 */
export function statusSubresource(
  base: Strategy,
  overrides: Partial<Pick<Strategy, 'prepareForUpdate' | 'validateUpdate'>> = {},
): ObjectSubresource {
  return {
    type: 'object',
    verbs: ['get', 'patch', 'update'],
    validates: 'status',
    strategy: {
      ...base,
      prepareForUpdate: (_context, object, old) => {
        keepField(object, old, 'spec');
        keepMetadata(object, old);
      },
      ...overrides,
    },
  };
}

/** Makes a field what it was before: what an endpoint may not change it keeps silently. */
export function keepField(object: KubeObject, old: DeepReadonly<KubeObject>, field: string): void {
  const before = getOwn(asJson(old as KubeObject), field);
  if (before === undefined) delete object[field];
  else setOwn(asJson(object), field, deepCopy(before));
}

/** Labels, annotations, finalizers and owners stay what they were. */
export function keepMetadata(object: KubeObject, old: DeepReadonly<KubeObject>): void {
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    keepField(object.metadata as unknown as KubeObject, old.metadata as unknown as KubeObject, field);
  }
}
