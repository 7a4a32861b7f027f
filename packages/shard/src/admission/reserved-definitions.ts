import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { type ResourceDefinition, boundDefinitionsCluster } from '@multiplane/apis';

const reserved = 'apis.kcp.io';
/** Where kcp keeps the CustomResourceDefinitions of its own kinds. */
const systemDefinitionsCluster = 'system:system-crds' as LogicalClusterName;

const isWritten = (operation: AdmissionAttributes['operation']): boolean =>
  operation === 'CREATE' || operation === 'UPDATE';

function definitionIn({ definition, object, subresource }: AdmissionAttributes): KubeObject | undefined {
  return definition.group === 'apiextensions.k8s.io' &&
    definition.resource === 'customresourcedefinitions' &&
    subresource === ''
    ? object
    : undefined;
}

/** Reserves the annotations that mark a CRD as made from a bound schema (kcp `pkg/admission/reservedcrdannotations`). */
export class ReservedCrdAnnotations implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/ReservedCRDAnnotations';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return isWritten(operation);
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'apiextensions.k8s.io' && resource === 'customresourcedefinitions';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const definition = definitionIn(attributes);
    if (definition === undefined || attributes.cluster === boundDefinitionsCluster) return;
    const key = Object.keys(definition.metadata.annotations ?? {})
      .toSorted()
      .find(isReserved);
    if (key !== undefined) throw admissionForbidden(attributes, `${key} is a reserved annotation`);
  }
}

function isReserved(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  return domain === reserved || domain.endsWith(`.${reserved}`);
}

/** Reserves the groups of kcp's system kinds (kcp `pkg/admission/reservedcrdgroups`). */
export class ReservedCrdGroups implements AdmissionPlugin {
  readonly name = 'kcp.io/ReservedCRDGroups';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return isWritten(operation);
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'apiextensions.k8s.io' && resource === 'customresourcedefinitions';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const definition = definitionIn(attributes);
    if (definition === undefined || attributes.cluster === systemDefinitionsCluster) return;
    const { group } = (definition['spec'] ?? {}) as { group?: unknown };
    if (typeof group === 'string' && group.endsWith(reserved))
      throw admissionForbidden(attributes, `${group} is a reserved group`);
  }
}
