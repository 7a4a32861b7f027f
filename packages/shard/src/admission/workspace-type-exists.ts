import {
  clusterAnnotation,
  isJsonObject,
  splitPath,
  statusErrors,
  type DeepReadonly,
  type LogicalClusterName,
  type StatusError,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import { AmbiguousPathError } from '@multiplane/client';
import {
  parseQualifiedType,
  qualifiedTypeName,
  resolveTypeClosure,
  typeAnnotation,
  typePathOf,
  workspaces,
  WorkspaceTypeError,
  type LogicalCluster,
  type TypeReference,
  type Workspace,
  type WorkspaceType,
  type WorkspaceTypeLookup,
} from '@multiplane/controllers';
import type { Authorizer } from '@multiplane/generic-server';
import { limitProblem } from './type-limits.ts';

export interface WorkspaceTypeExistsModules {
  readonly authorizer: Authorizer;
  /** Types of all shards. */
  readonly types: WorkspaceTypeLookup;
  readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
  /** Canonical path of a logical cluster of this shard. */
  readonly pathOf: (cluster: LogicalClusterName) => string | undefined;
}

type Type = DeepReadonly<WorkspaceType>;

/**
 * Resolves the type of a new Workspace (kcp `pkg/admission/workspacetypeexists`). The type is stored with its path, so that the
 * reference stays unambiguous. The creator needs the verb `use` on the type and on all types that it extends, and the limits
 * of the parent's type must allow it.
 */
export class WorkspaceTypeExists implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/WorkspaceTypeExists';
  readonly #modules: WorkspaceTypeExistsModules;
  constructor(modules: WorkspaceTypeExistsModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === workspaces.group && resource === workspaces.resource;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (!concerns(attributes)) return;
    const workspace = attributes.object as Workspace;
    // Mutating admission runs before schema validation: an object of another kind or shape is left to the schema.
    if ((workspace.kind ?? 'Workspace') !== 'Workspace' || !hasTypeOfRightShape(workspace)) return;
    const wanted =
      workspace.spec?.type?.name === undefined || workspace.spec.type.name === ''
        ? this.#defaultType(attributes)
        : workspace.spec.type;
    const type = this.#resolve(attributes, wanted);
    workspace.spec = {
      ...workspace.spec,
      type: { name: wanted.name, path: isEmpty(wanted.path) ? typePathOf(type) : (wanted.path as string) },
    };
    const { additionalWorkspaceLabels: labels } = type.spec ?? {};
    if (labels !== undefined && Object.keys(labels).length > 0)
      workspace.metadata.labels = { ...labels, ...workspace.metadata.labels };
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!concerns(attributes)) return;
    const reference = (attributes.object as Workspace).spec?.type;
    if (reference === undefined) throw forbidden(attributes, 'spec.type must be set');
    const closure = this.#closure(attributes, this.#resolve(attributes, reference));
    for (const alias of closure) await this.#requireUse(attributes, alias);
    const parents = this.#closure(attributes, this.#parentType(attributes));
    const problem = limitProblem(closure, parents);
    if (problem !== undefined) throw forbidden(attributes, problem);
  }

  /** The default child type of the parent's type. */
  #defaultType(attributes: AdmissionAttributes): TypeReference {
    const parent = this.#parentType(attributes);
    const wanted = parent.spec?.defaultChildWorkspaceType;
    if (wanted === undefined || wanted.name === '')
      throw forbidden(
        attributes,
        `spec.defaultChildWorkspaceType of workspace type ${qualifiedTypeName(parent)} must be set`,
      );
    return wanted;
  }

  #parentType(attributes: AdmissionAttributes): Type {
    const annotation = this.#modules.logicalCluster(attributes.cluster)?.metadata.annotations?.[typeAnnotation];
    if (annotation === undefined)
      throw forbidden(attributes, `annotation ${typeAnnotation} on LogicalCluster must be set`);
    const named = parseQualifiedType(annotation);
    if (named === undefined)
      throw forbidden(attributes, `annotation ${typeAnnotation} on LogicalCluster must be in the form of cluster:name`);
    const type = this.#find(attributes, named.path, named.name);
    if (type === undefined)
      throw forbidden(
        attributes,
        `parent type cannot be resolved: workspacetypes.tenancy.kcp.io "${named.name}" not found`,
      );
    return type;
  }

  /** A reference without a path is looked up in this logical cluster, then in its ancestors up to root. */
  #resolve(attributes: AdmissionAttributes, { path, name }: TypeReference): Type {
    if (!isEmpty(path)) {
      const type = this.#find(attributes, path as string, name);
      if (type !== undefined) return type;
      throw forbidden(attributes, `Internal error occurred: workspacetypes.tenancy.kcp.io "${path}:${name}" not found`);
    }
    let place: string | undefined = this.#modules.pathOf(attributes.cluster) ?? attributes.cluster;
    while (place !== undefined) {
      const type = this.#find(attributes, place, name);
      if (type !== undefined) return type;
      place = splitPath(place)?.parent;
    }
    const type = this.#find(attributes, 'root', name);
    if (type === undefined) throw forbidden(attributes, `workspace type "${name}" cannot be resolved`);
    return type;
  }

  #find(attributes: AdmissionAttributes, path: string, name: string): Type | undefined {
    try {
      return this.#modules.types.byPathAndName(path, name);
    } catch (error) {
      if (error instanceof AmbiguousPathError) throw forbidden(attributes, error.message);
      throw error;
    }
  }

  #closure(attributes: AdmissionAttributes, type: Type): readonly Type[] {
    try {
      return resolveTypeClosure(this.#modules.types, type);
    } catch (error) {
      if (error instanceof WorkspaceTypeError || error instanceof AmbiguousPathError)
        throw forbidden(attributes, error.message);
      throw error;
    }
  }

  async #requireUse(attributes: AdmissionAttributes, type: Type): Promise<void> {
    const { decision } = await this.#modules.authorizer.authorize({
      user: attributes.user,
      cluster: type.metadata.annotations?.[clusterAnnotation] as LogicalClusterName,
      deep: true,
      verb: 'use',
      isResourceRequest: true,
      group: 'tenancy.kcp.io',
      version: 'v1alpha1',
      resource: 'workspacetypes',
      subresource: '',
      namespace: '',
      name: type.metadata.name ?? '',
      path: '',
    });
    if (decision === 'allow') return;
    throw forbidden(
      attributes,
      `unable to use workspace type ${qualifiedTypeName(type)}: missing verb='use' permission on workspacetype`,
    );
  }
}

function hasTypeOfRightShape({ spec }: { readonly spec?: unknown }): boolean {
  if (spec === undefined || spec === null) return true;
  if (!isJsonObject(spec)) return false;
  const type = spec['type'] ?? {};
  if (!isJsonObject(type)) return false;
  return [type['name'], type['path']].every((text) => text === undefined || text === null || typeof text === 'string');
}

const isEmpty = (text: string | undefined): boolean => text === undefined || text === '';
/** Mounted workspaces have no type. */
function concerns({ definition, subresource, object }: AdmissionAttributes): boolean {
  const workspace: Workspace | undefined = object;
  return (
    subresource === '' &&
    definition.group === workspaces.group &&
    definition.resource === workspaces.resource &&
    workspace?.spec?.mount === undefined
  );
}
const forbidden = (attributes: AdmissionAttributes, why: string): StatusError => {
  const { name, generateName } = attributes.object?.metadata ?? {};
  return statusErrors.forbidden(attributes.definition, name ?? generateName ?? attributes.name, why);
};
