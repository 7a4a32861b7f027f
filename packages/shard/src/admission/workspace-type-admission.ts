import { statusErrors, type DeepReadonly, type LogicalClusterName, type StatusError } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import { workspaceTypes, type WorkspaceType } from '@multiplane/controllers';
import type { Authorizer } from '@multiplane/generic-server';
import { rootCluster } from '../logical-cluster-index.ts';
import { exportNameIn, mayBind } from './bind-permission.ts';

export interface WorkspaceTypeAdmissionModules {
  readonly authorizer: Authorizer;
  /** Resolves a path to a logical cluster; undefined if there is none. */
  readonly resolvePath: (path: string, exportName: string) => LogicalClusterName | undefined;
}

type Binding = NonNullable<NonNullable<WorkspaceType['spec']>['defaultAPIBindings']>[number];

/**
 * Validates WorkspaceTypes (kcp `pkg/admission/workspacetype`). References to other types need a path, since they are resolved
 * from other workspaces. The author needs the verb `bind` on all default APIBindings, which are created in the workspaces of
 * others.
 */
export class WorkspaceTypeAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/WorkspaceType';
  readonly #modules: WorkspaceTypeAdmissionModules;
  constructor(modules: WorkspaceTypeAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === workspaceTypes.group && resource === workspaceTypes.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!concerns(attributes)) return;
    const { spec, metadata } = attributes.object as WorkspaceType;
    if (metadata.name === 'root' && attributes.cluster !== rootCluster)
      throw forbidden(attributes, 'root workspace type can only be created in root cluster');
    if (spec?.defaultChildWorkspaceType !== undefined && isEmpty(spec.defaultChildWorkspaceType.path))
      throw forbidden(attributes, '.spec.defaultChildWorkspaceType.path must be set');
    for (const limit of ['limitAllowedChildren', 'limitAllowedParents'] as const) {
      const at = (spec?.[limit]?.types ?? []).findIndex(({ path }) => isEmpty(path));
      if (at >= 0) throw forbidden(attributes, `.spec.${limit}.types[${at}].path must be set`);
    }
    const before: DeepReadonly<WorkspaceType> | undefined = attributes.oldObject;
    const old = before?.spec?.defaultAPIBindings ?? [];
    for (const binding of spec?.defaultAPIBindings ?? []) {
      if (!old.some((known) => known.path === binding.path && known.export === binding.export))
        await this.#requireBind(attributes, binding);
    }
  }

  async #requireBind(attributes: AdmissionAttributes, binding: Binding): Promise<void> {
    const { authorizer, resolvePath } = this.#modules;
    const cluster = isEmpty(binding.path) ? attributes.cluster : resolvePath(binding.path as string, binding.export);
    if (cluster !== undefined && (await mayBind(authorizer, { user: attributes.user, cluster, name: binding.export })))
      return;
    const named = exportNameIn({ path: binding.path, name: binding.export }, attributes.cluster);
    throw forbidden(attributes, `unable to create or update WorkspaceType: no permission to bind to export ${named}`);
  }
}

const isEmpty = (text: string | undefined): boolean => text === undefined || text === '';
const concerns = ({ definition, subresource }: AdmissionAttributes): boolean =>
  subresource === '' && definition.group === workspaceTypes.group && definition.resource === workspaceTypes.resource;
const forbidden = (attributes: AdmissionAttributes, why: string): StatusError =>
  statusErrors.forbidden(attributes.definition, attributes.object?.metadata.name ?? attributes.name, why);
