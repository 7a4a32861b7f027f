import {
  deepEqual,
  fieldErrors,
  FieldPath,
  quote,
  type FieldError,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import type { APIBinding } from '@multiplane/apis';
import {
  hasClaimLabels,
  isClaimLabel,
  noLabels,
  type ClaimedObject,
  type ClaimLabels,
} from '../api-sharing/claim-labels.ts';
import type { Labels } from '../api-sharing/claim-selection.ts';
import { effectiveUsers } from '../authorization/effective-users.ts';
import { refuseAny } from './field-error-list.ts';

type ClaimLabelSource = Pick<ClaimLabels, 'expected' | 'ready' | 'groupsKeptOut'>;

/** More labels are changed in place. */
const manyLabels = 2_000;

/**
 * Sets the permission claim labels of written objects (kcp `pkg/admission/permissionclaims`): exactly those of the claims in
 * force, whatever the client sent. The validating stage checks again, because other plugins may change labels in between.
 */
export class PermissionClaims implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/PermissionClaims';
  readonly #labels: ClaimLabelSource;
  /** Labels after {@link admit}; only of claimed objects. */
  readonly #admitted = new WeakMap<KubeObject, Labels>();
  constructor(modules: { readonly labels: ClaimLabelSource }) {
    this.#labels = modules.labels;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const object = objectOf(attributes);
    if (object === undefined) return undefined;
    const { cluster, definition } = attributes;
    const ready = this.#labels.ready({ cluster, group: definition.group, resource: definition.resource });
    return ready === undefined ? this.#admit(attributes, object) : ready.then(() => this.#admit(attributes, object));
  }

  #admit(attributes: AdmissionAttributes, object: KubeObject): undefined {
    const given = object.metadata.labels ?? noLabels;
    const expected = this.#expected(attributes, given);
    const keys = Object.keys(given);
    const isWide = keys.length > manyLabels;
    if (!hasClaimLabels(given, expected, keys)) {
      if (isWide && !Object.isFrozen(given)) {
        // In place: copies of so many labels are long steps.
        const labels = given as Record<string, string>;
        for (const key of keys) if (isClaimLabel(key)) delete labels[key];
        Object.assign(labels, expected);
      } else {
        const labels = Object.fromEntries(keys.filter((key) => !isClaimLabel(key)).map((key) => [key, given[key]]));
        Object.assign(labels, expected);
        if (Object.keys(labels).length > 0) object.metadata.labels = labels as Record<string, string>;
        else delete object.metadata.labels;
      }
    }
    if (expected === noLabels) return undefined;
    this.#admitted.set(object, { ...object.metadata.labels });
    return undefined;
  }

  validate(attributes: AdmissionAttributes): undefined {
    const object = objectOf(attributes);
    if (object === undefined) return;
    const given = object.metadata.labels ?? noLabels;
    this.#checkProvider(attributes, given);
    const expected = this.#expected(attributes, given);
    if (hasClaimLabels(given, expected) || this.#changedMeanwhile(object, given)) return;
    refuseAny(attributes, differences(given, expected));
  }

  /**
   * Whether the claims changed between the two stages and the labels did not. The write passes: the permission claim label
   * controller corrects the labels.
   */
  #changedMeanwhile(object: KubeObject, given: Labels): boolean {
    const admitted = this.#admitted.get(object);
    return admitted === undefined ? !Object.keys(given).some(isClaimLabel) : deepEqual(admitted, given);
  }

  /** A provider that comes through its virtual workspace writes only what its claim is for, whatever the object was before. */
  #checkProvider(attributes: AdmissionAttributes, labels: Labels): void {
    const groups = this.#labels.groupsKeptOut(claimedObject(attributes), labels);
    if (groups.length === 0) return;
    const isKeptOut = effectiveUsers(attributes.user, attributes.cluster).some((user) =>
      groups.some((group) => user.groups.includes(group)),
    );
    if (isKeptOut) throw admissionForbidden(attributes, 'the permission claim of the APIExport is not for this object');
  }

  #expected(attributes: AdmissionAttributes, labels: Labels): Labels {
    const object = claimedObject(attributes);
    return this.#labels.expected(
      attributes.keepsStatus === true ? { ...object, ...exportOf(attributes.object) } : object,
      labels,
    );
  }
}

function claimedObject({ cluster, definition, namespace, name, object }: AdmissionAttributes): ClaimedObject {
  const { group, resource, fieldSelectors } = definition;
  return {
    cluster,
    group,
    resource,
    namespace,
    name: object?.metadata.name ?? name,
    field: (field) =>
      object === undefined || !Object.hasOwn(fieldSelectors, field) ? '' : (fieldSelectors[field]?.(object) ?? ''),
  };
}

/** The export of an APIBinding that is created together with its status. */
function exportOf(object: KubeObject | undefined): Pick<ClaimedObject, 'export'> {
  const { spec, status } = (object ?? {}) as Partial<APIBinding>;
  const cluster = status?.apiExportClusterName ?? '';
  const name = spec?.reference?.export?.name;
  return cluster === '' || name === undefined ? {} : { export: { cluster: cluster as LogicalClusterName, name } };
}

/** The written object; undefined for subresources with a kind of their own. */
function objectOf({ definition, subresource, object }: AdmissionAttributes): KubeObject | undefined {
  return subresource === '' || object?.kind === definition.kind ? object : undefined;
}

function differences(given: Labels, expected: Labels): FieldError[] {
  const path = FieldPath.of('metadata', 'labels');
  const wrong = Object.entries(expected).flatMap(([key, value]) =>
    given[key] === value ? [] : [fieldErrors.invalid(path.key(key), given[key] ?? '', `must be ${quote(value)}`)],
  );
  const forbidden = Object.keys(given).flatMap((key) =>
    isClaimLabel(key) && expected[key] === undefined ? [fieldErrors.forbidden(path.key(key), 'must not be set')] : [],
  );
  return [...wrong, ...forbidden];
}
