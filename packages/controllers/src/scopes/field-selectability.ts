import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiResourceSchemas,
  isFieldKey,
  policyHasResource,
  selectableFieldsOf,
  shownKey,
  type APIExport,
  type APIResourceSchema,
  type ExportedResource,
} from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { NewKcpCondition } from '../runtime/kcp-conditions.ts';

type Policy = Parameters<typeof policyHasResource>[0];

/** The resources of exports that scopes with a key can divide: for a label all, for a field those that declare it. */
export class FieldSelectability {
  readonly #schemas: Lister<APIResourceSchema>;

  /** `globalInformers` have the schemas of all shards. */
  constructor({ globalInformers }: { readonly globalInformers: InformerSource }) {
    this.#schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  }

  divides(apiExport: DeepReadonly<APIExport>, resource: DeepReadonly<ExportedResource>, key: string): boolean {
    if (!isFieldKey(key)) return true;
    const cluster = (apiExport.metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
    const schema = this.#schemas.get({ cluster, namespace: '', name: resource.schema });
    return selectableFieldsOf(resource, schema).includes(key);
  }

  /** The condition of a scope or set; undefined where it selects by a label. */
  condition(apiExport: DeepReadonly<APIExport>, policy: Policy, key: string | undefined): NewKcpCondition | undefined {
    if (key === undefined || !isFieldKey(key)) return undefined;
    const undeclared = (apiExport.spec?.resources ?? [])
      .filter(({ group = '', name }) => policyHasResource(policy, { group, resource: name }))
      .filter((resource) => !this.divides(apiExport, resource, key))
      .map(({ group = '', name }) => (group === '' ? name : `${name}.${group}`));
    if (undeclared.length === 0) return { type: 'FieldSelectable', status: 'True' };
    return {
      type: 'FieldSelectable',
      status: 'False',
      severity: 'Warning',
      reason: 'FieldNotSelectable',
      message: `the storage version of ${shownNames(undeclared)} does not declare ${shownKey(key)} in selectableFields: their objects are not served, and the stored values of the field do not change until it does`,
    };
  }
}

/** Resources that a message names. */
const maxNamed = 5;

const shownNames = (names: readonly string[]): string =>
  names.length <= maxNamed
    ? names.join(', ')
    : `${names.slice(0, maxNamed).join(', ')} and ${names.length - maxNamed} more`;
