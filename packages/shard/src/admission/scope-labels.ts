import {
  quote,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { admissionForbidden, scalarText, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  apiExportScopes,
  isFieldKey,
  scopeConditionsAnnotation,
  scopeFinalizersAnnotation,
  scopeOfGroup,
  shownKey,
  transferAnnotation,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import { warrantExtra, type Authorizer } from '@multiplane/generic-server';
import { effectiveUsers } from '../authorization/effective-users.ts';
import { FieldValues } from '../scopes/field-values.ts';
import { ResourceScopes } from '../scopes/resource-scopes.ts';
import type { IndexedScope, ScopeIndex, ScopesByKey } from '../scopes/scope-index.ts';
import { writeRecords } from '../scopes/scope-records.ts';
import type { ScopeSetIndex } from '../scopes/scope-set-index.ts';
import { admitScopedUpdate, named, ScopeRuleError, takeRequests, unknownScope } from '../scopes/scoped-update.ts';

export interface ScopeLabelsModules {
  /** Scopes of all shards. */
  readonly scopes: Pick<ScopeIndex, 'get' | 'of'>;
  readonly sets: Pick<ScopeSetIndex, 'of'>;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/**
 * Protects the labels and fields by which APIExportScopes select, for every write of an object of a bound API, whichever way it comes:
 * from the consumer, through a virtual workspace, or changed by a webhook or policy before this plugin.
 *
 * A request through the virtual workspace of a scope carries {@link scopeOfGroup} in a warrant. For it, objects outside of the
 * scope do not exist, and what it creates is put into the scope. The rules of updates are those of {@link admitScopedUpdate}.
 * The check is part of the write: an object that left the scope after the virtual workspace saw it is not written.
 */
export class ScopeLabels implements AdmissionPlugin {
  readonly name = 'scopes.multiplane.dev/ScopeLabels';
  readonly #modules: ScopeLabelsModules;
  readonly #resources: ResourceScopes;

  constructor(modules: ScopeLabelsModules) {
    this.#modules = modules;
    this.#resources = new ResourceScopes(modules);
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation !== 'CONNECT';
  }

  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { object, oldObject, operation, definition } = attributes;
    if (object === undefined || operation === 'DELETE') return undefined;
    const scopes = this.#resources.of(definition);
    const through = this.#through(attributes);
    if (through === undefined && scopes.size === 0 && !hasRecords(definition, object)) return undefined;
    if (operation === 'CREATE' || oldObject === undefined)
      return this.#admitCreate(attributes, object, scopes, through);
    if (through !== undefined) requireInScope(attributes, oldObject, through);
    if (definition.bound === undefined) {
      if (through !== undefined) requireValue(attributes, object, undefined, through);
      return undefined;
    }
    return this.#admitUpdate(attributes, object, oldObject, scopes, through);
  }

  /** Deletes have no new object; they are checked against the object that the store removes or marks. */
  validate(attributes: AdmissionAttributes): undefined {
    const { oldObject } = attributes;
    const through = this.#through(attributes);
    if (through === undefined) return;
    if (oldObject !== undefined) requireInScope(attributes, oldObject, through);
  }

  async #admitCreate(
    attributes: AdmissionAttributes,
    object: KubeObject,
    scopes: ScopesByKey,
    through: IndexedScope | undefined,
  ): Promise<void> {
    const { metadata } = object;
    takeRequests(metadata);
    const fields = await FieldValues.read(attributes);
    if (through !== undefined) {
      const { key, value } = through;
      if (!isFieldKey(key)) metadata.labels = { [key]: value, ...metadata.labels };
      else if (fields?.after(key) === undefined) fields?.set(key, value);
      requireValue(attributes, object, fields, through);
    }
    for (const [key, byValue] of scopes) {
      const value = isFieldKey(key) ? fields?.after(key) : metadata.labels?.[key];
      if (value === undefined || through?.key === key) continue;
      const scope = byValue.get(value);
      if (scope === undefined) await forbiddenByRule(attributes, this.#admitNewValue(attributes, scopes, key, value));
      else if (scope.object.spec?.assignment !== 'Consumer' && !(await this.#mayAssign(attributes, scope)))
        throw admissionForbidden(
          attributes,
          `${named(key)} is protected: APIExportScope ${quote(scope.name)} needs the verb "assign"`,
        );
    }
    fields?.admit();
    if (attributes.definition.bound === undefined) return;
    const finalizers = metadata.finalizers ?? [];
    writeRecords(metadata, {
      transfers: new Map(),
      finalizers: new Map(through === undefined || finalizers.length === 0 ? [] : [[through.key, finalizers]]),
    });
  }

  async #admitUpdate(
    attributes: AdmissionAttributes,
    { metadata }: KubeObject,
    old: DeepReadonly<KubeObject>,
    scopes: ScopesByKey,
    through: IndexedScope | undefined,
  ): Promise<void> {
    const fields = await FieldValues.read(attributes);
    const admitted = admitScopedUpdate({
      scopes,
      through,
      fields,
      old: old.metadata,
      metadata,
      isSubresource: attributes.subresource !== '',
      now: new Date(this.#modules.clock.now()),
      mayAssign: (scope) => this.#mayAssign(attributes, scope),
      admitNewValue: (key, value) => this.#admitNewValue(attributes, scopes, key, value),
    });
    await forbiddenByRule(attributes, admitted);
    fields?.admit();
  }

  /**
   * A value without a scope is admitted where a set makes scopes of the values that occur, below its limit, for users who may
   * create scopes where the set is. The shard reports the value, and the set's controller makes the scope.
   */
  async #admitNewValue(
    attributes: AdmissionAttributes,
    scopes: ScopesByKey,
    key: string,
    value: string,
  ): Promise<void> {
    const { definition } = attributes;
    const set = this.#modules.sets.of(definition.bound?.identity ?? '', definition).get(key);
    if (set === undefined) throw unknownScope(key, value);
    if (!(await this.#isAllowed(attributes, set.cluster, 'create', '')))
      throw new ScopeRuleError(
        `${named(key)} is protected, and no APIExportScope has the value ${quote(value)}: a new value needs the verb "create" on apiexportscopes`,
      );
    if ((scopes.get(key)?.size ?? 0) >= set.limit)
      throw new ScopeRuleError(
        `${named(key)} cannot have the new value ${quote(value)}: APIExportScopeSet ${quote(set.name)} has its limit of ${set.limit} values`,
      );
  }

  /** The scope whose virtual workspace sent the request. Throws Forbidden if it is no longer in force. */
  #through(attributes: AdmissionAttributes): IndexedScope | undefined {
    const { user, cluster } = attributes;
    if (user.extra[warrantExtra] === undefined) return undefined;
    for (const warranted of effectiveUsers(user, cluster)) {
      // The groups of the caller itself come from its credentials: only those of a warrant are the system's.
      if (warranted === user) continue;
      for (const group of warranted.groups) {
        const reference = scopeOfGroup(group);
        if (reference === undefined) continue;
        const scope = this.#modules.scopes.get(reference.cluster, reference.name);
        if (scope === undefined)
          throw admissionForbidden(attributes, `APIExportScope ${quote(reference.name)} is not in force`);
        return scope;
      }
    }
    return undefined;
  }

  #mayAssign(attributes: AdmissionAttributes, { cluster, name }: IndexedScope): Promise<boolean> {
    return this.#isAllowed(attributes, cluster, 'assign', name);
  }

  /** Whether the user has a verb on apiexportscopes of a logical cluster. */
  async #isAllowed(
    { user }: AdmissionAttributes,
    cluster: LogicalClusterName,
    verb: string,
    name: string,
  ): Promise<boolean> {
    const { decision } = await this.#modules.authorizer.authorize({
      user,
      cluster,
      deep: true,
      verb,
      isResourceRequest: true,
      ...apiExportScopes,
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    return decision === 'allow';
  }
}

async function forbiddenByRule(attributes: AdmissionAttributes, admitted: Promise<void>): Promise<void> {
  try {
    await admitted;
  } catch (error) {
    if (error instanceof ScopeRuleError) throw admissionForbidden(attributes, error.message);
    throw error;
  }
}

/** Clients never write the records, also while there are no scopes: a later scope would trust them. */
const hasRecords = ({ bound }: ResourceDefinition, { metadata: { annotations } }: KubeObject): boolean =>
  bound !== undefined && annotations !== undefined && recordAnnotations.some((name) => annotations[name] !== undefined);

const recordAnnotations = [transferAnnotation, scopeFinalizersAnnotation, scopeConditionsAnnotation];

function requireInScope(
  { definition, name, storedFields }: AdmissionAttributes,
  { metadata }: DeepReadonly<KubeObject>,
  { key, value }: IndexedScope,
): void {
  const found = isFieldKey(key) ? scalarText(storedFields?.before(key)) : metadata.labels?.[key];
  if (found !== value) throw statusErrors.notFound(definition, name);
}

function requireValue(
  attributes: AdmissionAttributes,
  { metadata }: KubeObject,
  fields: FieldValues | undefined,
  { key, value }: IndexedScope,
): void {
  const found = isFieldKey(key) ? fields?.after(key) : metadata.labels?.[key];
  if (found !== value)
    throw admissionForbidden(
      attributes,
      `protected ${isFieldKey(key) ? 'field' : 'label'} ${shownKey(key)} must have value ${value}`,
    );
}
