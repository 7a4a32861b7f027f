import { Agent, request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { certificateRequest, eventually, type SubjectAttribute } from '@multiplane/testing';
import { here, SharedApis } from '../harness/shared-apis.ts';
import { grantAccess } from '../harness/workspaces.ts';

/**
 * The administrator of a workspace may create, approve and so obtain certificates with any subject. What such a certificate
 * is worth outside of the workspace is the question here.
 */
const apiGroup = 'rbac.authorization.k8s.io';
let shared: SharedApis;

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.workspace('near', here);
  const admin = shared.cluster.transport('base');
  for (const workspace of ['near', 'provider']) {
    await grantAccess(admin, `root:${workspace}`, ['user-1', 'victim']);
    await grant(workspace, 'victims', [
      { kind: 'User', name: 'victim', apiGroup },
      { kind: 'Group', name: 'team', apiGroup },
    ]);
  }
  admin.close();
  // user-1 administers `near` only.
  await grant('near', 'administrators', [{ kind: 'User', name: 'user-1', apiGroup }]);
}, 240_000);

afterAll(() => shared?.[Symbol.asyncDispose]());

async function grant(workspace: string, name: string, subjects: readonly object[]): Promise<void> {
  const rules = [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['/'], verbs: ['access'] },
  ];
  await shared.grant(workspace, name, rules, subjects);
}

interface Request {
  readonly status: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  };
}

const requests = '/clusters/root:near/apis/certificates.k8s.io/v1/certificatesigningrequests';
let count = 0;

const attributesOf = (subject: string): SubjectAttribute[] =>
  subject.split('/').map((attribute) => attribute.split('=', 2) as unknown as SubjectAttribute);

/** What becomes of a request that user-1 creates and approves, and the key for its certificate. */
async function obtain(
  /** As in `O=team/CN=somebody`. */
  subject: string,
  usages: readonly string[] = ['client auth', 'digital signature'],
): Promise<{ readonly status: Request['status']; readonly key: string }> {
  const name = `request-${count++}`;
  const { request, privateKey: key } = certificateRequest(attributesOf(subject), {
    uri: 'urn:multiplane:logicalcluster:root',
  });
  const as = 'user-1';
  await shared.requests.must({
    as,
    method: 'POST',
    path: requests,
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages,
        expirationSeconds: 3600,
      },
    },
  });
  const read = async (): Promise<Request['status']> =>
    ((await shared.requests.must({ as, path: `${requests}/${name}` })).json as unknown as Request).status;
  expect((await read()).certificate).toBeUndefined();
  await shared.requests.must({
    as,
    method: 'PATCH',
    path: `${requests}/${name}/approval`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }] } },
  });
  const status = await eventually(async () => {
    const now = await read();
    if (now.certificate === undefined && !now.conditions?.some(({ type }) => type === 'Failed'))
      throw new Error('the request is neither signed nor failed');
    return now;
  });
  return { status, key };
}

/** Status and JSON of a GET with a client certificate. */
async function get(
  path: string,
  cert: string,
  key: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const agent = new Agent({ ca: shared.cluster.ca, cert, key });
  try {
    return await new Promise((resolve, reject) => {
      const request = httpsRequest(`${shared.cluster.url}${path}`, { agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('error', reject);
      request.end();
    });
  } finally {
    agent.destroy();
  }
}

const pemOf = (certificate: string | undefined): string => Buffer.from(certificate ?? '', 'base64').toString();

describe('a certificate that a workspace issues', () => {
  test('authenticates its user and groups there', async () => {
    const { status, key } = await obtain('O=team/CN=somebody');
    const cert = pemOf(status.certificate);
    expect(await get('/clusters/root:near/api/v1/secrets?limit=1', cert, key)).toMatchObject({ status: 200 });
  });

  test.each(['CN=victim', 'O=team/CN=somebody'])(
    'of %s grants nothing in another workspace, whatever alternative name was asked for',
    async (subject) => {
      const { status, key } = await obtain(subject);
      const cert = pemOf(status.certificate);
      expect(await get('/clusters/root:near/api/v1/secrets?limit=1', cert, key)).toMatchObject({ status: 200 });
      for (const path of [
        '/clusters/root:provider/api/v1/secrets',
        '/clusters/root/api/v1/secrets',
        `/clusters/${shared.clusters.get('provider') ?? ''}/api/v1/secrets`,
        '/clusters/*/api/v1/secrets',
        '/clusters/system:admin/api/v1/secrets',
      ])
        expect([path, (await get(path, cert, key)).status]).toEqual([path, 403]);
    },
  );

  test.each([
    'CN=system:admin',
    'CN=system:serviceaccount:default:default',
    'O=system:kcp:admin/CN=somebody',
    'O=system:kcp:logical-cluster-admin/CN=somebody',
    'O=system:cluster:root/CN=somebody',
    'O=team/OU=no-name',
  ])('is not issued for %s', async (subject) => {
    const { status } = await obtain(subject);
    expect(status.certificate).toBeUndefined();
    expect(status.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['Approved', 'Test'],
      ['Failed', 'SignerValidationFailure'],
    ]);
  });

  test('is not issued for system:masters, as in Kubernetes', async () => {
    await expect(obtain('O=system:masters/CN=somebody')).rejects.toThrow('403');
  });

  test('is not issued for a server', async () => {
    const { status } = await obtain('CN=somebody', ['server auth']);
    expect(status.conditions?.at(-1)?.message).toBe('invalid usage for client certificate: server auth');
  });
});
