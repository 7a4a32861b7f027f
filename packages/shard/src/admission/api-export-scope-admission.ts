import {
  deepEqual,
  fieldErrors,
  FieldPath,
  quote,
  validateLabelKey,
  validateLabelValue,
  type DeepReadonly,
  type FieldError,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  apiExportScopes,
  apiExportScopeEndpointSlices,
  apiExportScopeSets,
  isFieldKey,
  scopeSelector,
  scopesGroup,
  shownKey,
  type APIExport,
  type APIExportScope,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { PathAndNameLookup } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import type { ScopeIndex } from '../scopes/scope-index.ts';
import { exportClusterOf, exportNameIn, mayUseExport, type ExportReference } from './bind-permission.ts';
import { refuseAny } from './field-error-list.ts';
import { isPrivileged } from './workspace-admission.ts';

export interface ApiExportScopeAdmissionModules {
  readonly authorizer: Authorizer;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
  readonly scopes: Pick<ScopeIndex, 'overlapping'>;
}

/** The fields of scopes and sets. */
interface ScopeSpec {
  readonly export?: ExportReference;
  readonly selector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchFields?: Readonly<Record<string, string>>;
  };
  readonly labelKey?: string;
  readonly values?: readonly string[];
}

/** Labels of these domains belong to the control plane or to Kubernetes. */
const reservedDomains = ['kcp.io', 'multiplane.dev', 'kubernetes.io', 'k8s.io'];

/**
 * Admits the kinds of `scopes.multiplane.dev`. A scope shows objects of all consumers of an export, and it protects their
 * labels or fields; therefore its creator needs the verb `scope` on the APIExport. The refusal does not reveal whether the export exists.
 * A second scope with the key and value of another one is refused; two that are created at once on different shards are detected by the
 * controller, which leaves the younger one out of force. The status is written by the system only: other shards trust it.
 */
export class ApiExportScopeAdmission implements AdmissionPlugin {
  readonly name = 'scopes.multiplane.dev/APIExportScope';
  readonly #modules: ApiExportScopeAdmissionModules;

  constructor(modules: ApiExportScopeAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group }: ResourceDefinition): boolean {
    return group === scopesGroup;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, user, object, oldObject } = attributes;
    if (!this.concerns(definition) || object === undefined) return;
    if (!isPrivileged(user) && !isSame(object['status'], oldObject?.['status']) && attributes.subresource === 'status')
      throw admissionForbidden(attributes, 'the status can only be changed by system privileged users');
    if (attributes.subresource !== '' || definition.resource === apiExportScopeEndpointSlices.resource) return;
    const scope = object as KubeObject & { spec?: ScopeSpec };
    const isSet = definition.resource === apiExportScopeSets.resource;
    const path = FieldPath.of('spec');
    refuseAny(
      attributes,
      isSet ? setErrors(path, scope.spec) : selectorErrors(path.child('selector'), scope.spec?.selector),
    );
    const reference = scope.spec?.export;
    if (reference === undefined) return;
    const before = (oldObject?.['spec'] as ScopeSpec | undefined)?.export;
    const isNewReference = !isSame(before, reference);
    const exportCluster = exportClusterOf(this.#modules.exports, reference, attributes.cluster);
    if (isNewReference) await this.#requirePermission(attributes, reference, exportCluster);
    if (definition.resource === apiExportScopes.resource && exportCluster !== undefined)
      this.#refuseOverlap(attributes, object, { cluster: exportCluster, name: reference.name });
  }

  async #requirePermission(
    attributes: AdmissionAttributes,
    reference: ExportReference,
    exportCluster: LogicalClusterName | undefined,
  ): Promise<void> {
    const { user, cluster, operation, definition } = attributes;
    const { authorizer } = this.#modules;
    if (
      exportCluster !== undefined &&
      (await mayUseExport(authorizer, { user, cluster: exportCluster, name: reference.name, verb: 'scope' }))
    )
      return;
    throw admissionForbidden(
      attributes,
      `unable to ${operation.toLowerCase()} ${definition.kind}: no permission to scope export ${exportNameIn(reference, cluster)}`,
    );
  }

  #refuseOverlap(
    attributes: AdmissionAttributes,
    scope: DeepReadonly<APIExportScope>,
    exported: { readonly cluster: LogicalClusterName; readonly name: string },
  ): void {
    const { cluster } = attributes;
    const name = scope.metadata.name ?? '';
    const other = this.#modules.scopes.overlapping(scope, { cluster, name }, exported);
    if (other === undefined) return;
    const { key = '', value = '' } = scopeSelector(scope) ?? {};
    // A scope of another workspace is not named: its owner may be another tenant.
    const where = other.cluster === cluster ? `APIExportScope ${quote(other.name)}` : 'an APIExportScope';
    const selector = FieldPath.of('spec', 'selector', isFieldKey(key) ? 'matchFields' : 'matchLabels');
    refuseAny(attributes, [
      fieldErrors.invalid(selector.key(shownKey(key)), value, `overlaps with ${where} of the same APIExport`),
    ]);
  }
}

/** A path below spec as schemas write it, without arrays and maps. */
const fieldPathForm = /^spec(\.[A-Za-z_][A-Za-z0-9_-]*)+$/;

function selectorErrors(path: FieldPath, selector: ScopeSpec['selector']): FieldError[] {
  const { matchLabels = {}, matchFields = {} } = selector ?? {};
  return [
    ...Object.keys(matchLabels).flatMap((key) => keyErrors(path.child('matchLabels').key(key), key)),
    ...Object.keys(matchFields)
      .filter((field) => !fieldPathForm.test(field))
      .map((field) =>
        fieldErrors.invalid(
          path.child('matchFields').key(field),
          field,
          'must be the path of a field below spec, such as spec.className',
        ),
      ),
  ];
}

function setErrors(path: FieldPath, { labelKey, values = [] }: ScopeSpec = {}): FieldError[] {
  if (labelKey === undefined) return [];
  return [
    ...keyErrors(path.child('labelKey'), labelKey),
    ...values.flatMap((value, index) =>
      validateLabelValue(value).map((problem) =>
        fieldErrors.invalid(path.child('values').index(index), value, problem),
      ),
    ),
  ];
}

function keyErrors(path: FieldPath, key: string): FieldError[] {
  const errors = validateLabelKey(key, path);
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`)))
    errors.push(fieldErrors.forbidden(path, `labels of ${domain} are reserved`));
  return errors;
}

const isSame = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);
