import type { DeepReadonly, Json, JsonObject, KubeObject, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { namespaceOf } from './matching/request-matcher.ts';
import type { AdmissionAttributes } from './plugin.ts';
import { kindOfRequest, scaleOfRequest } from './request-objects.ts';

/** The AdmissionRequest of webhooks and expressions, without its objects. */
export function admissionRequest(attributes: AdmissionAttributes, definition: ResourceDefinition): JsonObject {
  const { definition: own, subresource, name, operation, user, dryRun, options } = attributes;
  const namespace = namespaceOf(attributes);
  const part: JsonObject = subresource === '' ? {} : { subResource: subresource };
  const kindOf = (one: ResourceDefinition): JsonObject => {
    if (scaleOfRequest(attributes, one) !== undefined) return { group: 'autoscaling', version: 'v1', kind: 'Scale' };
    const requestKind = kindOfRequest(attributes, one);
    return { group: requestKind.group, version: requestKind.version, kind: requestKind.kind };
  };
  return {
    kind: kindOf(definition),
    resource: resourceOf(definition),
    ...part,
    requestKind: kindOf(own),
    requestResource: resourceOf(own),
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfo(user),
    dryRun,
    options: Object.keys(options).length === 0 ? null : (options as JsonObject),
  };
}

const resourceOf = ({ group, version, resource }: ResourceDefinition): JsonObject => ({ group, version, resource });

function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(Object.keys(extra).length === 0 ? {} : { extra: extra as unknown as Json }),
  };
}

/** The fields of the `namespaceObject` variable (k8s.io/apiserver/pkg/admission/plugin/cel, CreateNamespaceObject). */
export function namespaceView({ metadata, ...rest }: DeepReadonly<KubeObject>): JsonObject {
  const { uid, managedFields: _managed, ownerReferences: _owners, ...others } = metadata as JsonObject;
  return {
    metadata: { ...others, ...(uid === undefined ? {} : { UID: uid }) },
    ...(rest['spec'] === undefined ? {} : { spec: rest['spec'] as Json }),
    ...(rest['status'] === undefined ? {} : { status: rest['status'] as Json }),
  };
}
