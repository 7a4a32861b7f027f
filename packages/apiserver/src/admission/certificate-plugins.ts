import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  asJson,
  deepEqual,
  isJsonObject,
  mastersGroup,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Authorizer } from '@multiplane/generic-server';
import { csrOrganizations } from './csr-organizations.ts';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const clientSigner = 'kubernetes.io/kube-apiserver-client';

interface AuthorizingModules {
  readonly authorizer: Authorizer;
}

function isSigningRequest({ definition, subresource }: AdmissionAttributes, expectedSubresource: string): boolean {
  return (
    definition.group === 'certificates.k8s.io' &&
    definition.resource === 'certificatesigningrequests' &&
    subresource === expectedSubresource
  );
}

/** Whether the user has a verb on a signer, by its name or for all signers of its domain (`<domain>/*`). */
async function canUseSigner(
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  verb: 'approve' | 'sign',
  signer: string,
): Promise<boolean> {
  if (attributes.user.groups.includes(mastersGroup)) return true;
  const domain = signer.slice(0, Math.max(0, signer.indexOf('/')));
  for (const name of [signer, `${domain}/*`]) {
    const { decision } = await authorizer.authorize({
      user: attributes.user,
      cluster: attributes.cluster,
      verb,
      isResourceRequest: true,
      group: 'certificates.k8s.io',
      version: '*',
      namespace: '',
      resource: 'signers',
      subresource: '',
      name,
      path: '',
    });
    if (decision === 'allow') return true;
  }
  return false;
}

function specText(object: DeepReadonly<KubeObject> | undefined, field: string): string {
  const spec = object === undefined ? undefined : asJson(object as KubeObject)['spec'];
  const value = isJsonObject(spec ?? null) ? (spec as JsonObject)[field] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Requires the verb `approve` on the signer of an approved request. */
export class CertificateApproval implements AdmissionPlugin {
  readonly name = 'CertificateApproval';
  readonly #modules: AuthorizingModules;
  constructor(modules: AuthorizingModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'certificates.k8s.io' && resource === 'certificatesigningrequests';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isSigningRequest(attributes, 'approval')) return;
    const signer = specText(attributes.oldObject, 'signerName');
    if (await canUseSigner(this.#modules.authorizer, attributes, 'approve', signer)) return;
    throw admissionForbidden(
      attributes,
      `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`,
    );
  }
}

/** Requires the verb `sign` on the signer for changes of the certificate or of a Failed condition. */
export class CertificateSigning implements AdmissionPlugin {
  readonly name = 'CertificateSigning';
  readonly #modules: AuthorizingModules;
  constructor(modules: AuthorizingModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'certificates.k8s.io' && resource === 'certificatesigningrequests';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isSigningRequest(attributes, 'status')) return;
    const before = signature(attributes.oldObject);
    const after = signature(attributes.object);
    if (deepEqual(before, after)) return;
    const signer = specText(attributes.oldObject, 'signerName');
    if (await canUseSigner(this.#modules.authorizer, attributes, 'sign', signer)) return;
    throw admissionForbidden(
      attributes,
      `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`,
    );
  }
}

/** The certificate and the Failed conditions. */
function signature(object: DeepReadonly<KubeObject> | undefined): JsonObject {
  const status = object === undefined ? undefined : asJson(object as KubeObject)['status'];
  if (!isJsonObject(status ?? null)) return {};
  const { certificate, conditions } = status as JsonObject;
  const failed = Array.isArray(conditions)
    ? conditions.filter((condition) => isJsonObject(condition) && condition['type'] === 'Failed')
    : [];
  return { certificate: certificate ?? '', failed };
}

/** Rejects requests to the kube-apiserver-client signer with the group system:masters. */
export class CertificateSubjectRestriction implements AdmissionPlugin {
  readonly name = 'CertificateSubjectRestriction';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'certificates.k8s.io' && resource === 'certificatesigningrequests';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isSigningRequest(attributes, '') || specText(attributes.object, 'signerName') !== clientSigner) return;
    if (!csrOrganizations(specText(attributes.object, 'request')).includes(mastersGroup)) return;
    throw admissionForbidden(attributes, `use of ${clientSigner} signer with ${mastersGroup} group is not allowed`);
  }
}
