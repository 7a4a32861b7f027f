import { describe, expect, test } from '@jest/globals';
import type { AuthorizationAttributes } from '@multiplane/generic-server';
import { CertificateApproval, CertificateSigning, CertificateSubjectRestriction } from './certificate-plugins.ts';
import { csrOrganizations } from './csr-organizations.ts';
import type { AdmissionAttributes } from './plugin.ts';

/** Minimal DER: only the subject of the request is encoded. */
const der = (tag: number, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  const length = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const organization = (name: string): Buffer =>
  der(0x31, der(0x30, Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0a]), der(0x0c, Buffer.from(name))));
const commonName = (name: string): Buffer =>
  der(0x31, der(0x30, Buffer.from([0x06, 0x03, 0x55, 0x04, 0x03]), der(0x0c, Buffer.from(name))));
function csr(...subject: Buffer[]): string {
  const request = der(0x30, der(0x30, der(0x02, Buffer.from([0])), der(0x30, ...subject), Buffer.alloc(0)));
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${request.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  return Buffer.from(pem).toString('base64');
}

const attributes = (subresource: string, spec: object, status: object = {}, old: object = {}): AdmissionAttributes =>
  ({
    operation: subresource === '' ? 'CREATE' : 'UPDATE',
    definition: { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' },
    subresource,
    cluster: 'root',
    namespace: '',
    name: 'c',
    user: { name: 'u', uid: '', groups: [], extra: {} },
    object: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'c' },
      spec,
      status,
    },
    oldObject: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'c' },
      spec,
      status: old,
    },
    options: {},
    dryRun: false,
    warn: () => undefined,
  }) as unknown as AdmissionAttributes;

const allowing = (...names: string[]) => ({
  authorizer: {
    authorize: ({ verb, resource, name }: AuthorizationAttributes) =>
      Promise.resolve({
        decision: names.includes(`${verb} ${resource} ${name}`) ? ('allow' as const) : ('noOpinion' as const),
        reason: '',
      }),
  },
});

describe('csrOrganizations', () => {
  test('parses the subject, and ignores invalid DER', () => {
    expect(csrOrganizations(csr(commonName('someone'), organization('team'), organization('system:masters')))).toEqual([
      'team',
      'system:masters',
    ]);
    expect(csrOrganizations(csr(organization('x'.repeat(300))))).toEqual(['x'.repeat(300)]);
    expect(csrOrganizations(csr())).toEqual([]);
    expect(csrOrganizations('')).toEqual([]);
    expect(
      csrOrganizations(Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nMIIC\n-----END').toString('base64')),
    ).toEqual([]);
  });

  test('rejects client certificates for system:masters', async () => {
    const plugin = new CertificateSubjectRestriction();
    const signerName = 'kubernetes.io/kube-apiserver-client';
    await expect(
      plugin.validate(attributes('', { signerName, request: csr(organization('system:masters')) })),
    ).rejects.toThrow(
      'certificatesigningrequests.certificates.k8s.io "c" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
    await plugin.validate(attributes('', { signerName, request: csr(organization('team')) }));
    await plugin.validate(
      attributes('', { signerName: 'example.com/mine', request: csr(organization('system:masters')) }),
    );
  });
});

describe('signer permissions', () => {
  const spec = { signerName: 'example.com/mine' };

  test('approval requires the verb on the signer or its domain', async () => {
    await expect(new CertificateApproval(allowing()).validate(attributes('approval', spec))).rejects.toThrow(
      'user not permitted to approve requests with signerName "example.com/mine"',
    );
    await new CertificateApproval(allowing('approve signers example.com/mine')).validate(attributes('approval', spec));
    await new CertificateApproval(allowing('approve signers example.com/*')).validate(attributes('approval', spec));
  });

  test('signing is checked only when the certificate or its failure changes', async () => {
    const plugin = new CertificateSigning(allowing());
    await plugin.validate(attributes('status', spec, { conditions: [{ type: 'Approved' }] }, {}));
    await expect(plugin.validate(attributes('status', spec, { certificate: 'eA==' }, {}))).rejects.toThrow(
      'user not permitted to sign',
    );
    await expect(plugin.validate(attributes('status', spec, { conditions: [{ type: 'Failed' }] }, {}))).rejects.toThrow(
      'user not permitted to sign',
    );
    await new CertificateSigning(allowing('sign signers example.com/mine')).validate(
      attributes('status', spec, { certificate: 'eA==' }, {}),
    );
  });
});
