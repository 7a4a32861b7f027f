import {
  fieldErrors,
  FieldPath,
  groupResourceText,
  validateLabelSelectorObject,
  type DeepReadonly,
  type FieldError,
} from '@multiplane/apimachinery';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import {
  cachedGroupVersionResource,
  cachedResources,
  isCachedResource,
  normalizedLabelSelector,
  type CachedResource,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { refuseAny } from './field-error-list.ts';

export interface CachedResourceAdmissionModules {
  readonly informers: InformerSource;
  /** True for resources of Kubernetes and kcp that every logical cluster serves. */
  readonly isBuiltIn: (group: string, resource: string) => boolean;
}

/**
 * CachedResources: one per group, version and resource in a logical cluster, never of a built-in API. Group and resource
 * are immutable, since published objects are found by them; kcp leaves them open.
 */
export class CachedResourceAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/CachedResource';
  readonly #modules: CachedResourceAdmissionModules;

  constructor(modules: CachedResourceAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return isCachedResource(definition);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!this.concerns(attributes.definition) || attributes.subresource !== '') return;
    const object = attributes.object as DeepReadonly<CachedResource> | undefined;
    // What misses its resource is refused by the schema, with a text of its own.
    if (object?.spec?.resource === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const old = attributes.oldObject;
    refuseAny(attributes, [
      ...this.#resourceErrors(attributes, object),
      ...selectorErrors(object),
      ...immutableErrors(object, old),
    ]);
  }

  #resourceErrors({ cluster }: AdmissionAttributes, object: DeepReadonly<CachedResource>): FieldError[] {
    const wanted = cachedGroupVersionResource(object);
    const { group, version, resource } = wanted;
    const path = FieldPath.of('spec');
    if (group === 'apis.kcp.io' || this.#modules.isBuiltIn(group, resource)) {
      const detail = 'Resource referenced in CachedResource must not be a built-in API or a system API of kcp';
      return [fieldErrors.invalid(path, groupResourceText(wanted), detail)];
    }
    const isTaken = this.#modules.informers
      .informer<CachedResource>(cachedResources)
      .list({ cluster })
      .some((other) => {
        const taken = cachedGroupVersionResource(other);
        return (
          other.metadata.name !== object.metadata.name &&
          taken.group === group &&
          taken.version === version &&
          taken.resource === resource
        );
      });
    if (!isTaken) return [];
    const detail = `CachedResource with this GVR already exists in the "${cluster}" workspace`;
    return [fieldErrors.invalid(path, `${group}.${version}.${resource}`, detail)];
  }
}

function selectorErrors({ spec }: DeepReadonly<CachedResource>): FieldError[] {
  const path = FieldPath.of('spec', 'labelSelector');
  const { matchLabels: _labels, matchExpressions: _expressions, ...labels } = spec?.labelSelector ?? {};
  const wrong = Object.entries(labels).find(([, value]) => typeof value !== 'string');
  if (wrong !== undefined)
    return [
      fieldErrors.invalid(
        path.key(wrong[0]),
        typeof wrong[1] === 'object' ? '{}' : String(wrong[1]),
        'must be the value of a label',
      ),
    ];
  return validateLabelSelectorObject(normalizedLabelSelector(spec?.labelSelector), path);
}

function immutableErrors(
  object: DeepReadonly<CachedResource>,
  old: DeepReadonly<CachedResource> | undefined,
): FieldError[] {
  if (old === undefined) return [];
  const now = cachedGroupVersionResource(object);
  const before = cachedGroupVersionResource(old);
  if (now.group === before.group && now.resource === before.resource) return [];
  const detail = 'group and resource are immutable: create another CachedResource';
  return [fieldErrors.invalid(FieldPath.of('spec', 'resource'), groupResourceText(now), detail)];
}
