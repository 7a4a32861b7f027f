import { expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle, FakeClock, testCertificates } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { certificateSigningRequests as requests } from './certificate-signing-request.ts';
import { csrCleanerController } from './csr-cleaner-controller.ts';
import { csrSigningController, UnsignableRequestError, type ClientSigningRequest } from './csr-signing-controller.ts';

const cluster = 'consumer' as LogicalClusterName;
const hour = 60 * 60 * 1000;

const condition = (type: string, at = 0): object => ({
  type,
  status: 'True',
  reason: 'Test',
  lastUpdateTime: new Date(at).toISOString(),
});
const csr = (name: string, { spec = {}, ...status }: { spec?: object; conditions?: object[]; certificate?: string }) =>
  ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, uid: `uid-of-${name}`, creationTimestamp: new Date(0).toISOString() },
    spec: {
      request: Buffer.from('a request').toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
      ...spec,
    },
    status,
  }) as unknown as KubeObject;

test('approved requests of the client signer are signed, those that cannot be signed fail', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const asked: ClientSigningRequest[] = [];
  const controller = csrSigningController({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    sign: async (request) => {
      asked.push(request);
      if (request.expirationSeconds === 601) throw new UnsignableRequestError('no');
      return Promise.resolve('a certificate');
    },
  });
  await controller.start();
  try {
    const approved = condition('Approved');
    for (const object of [
      csr('approved', { conditions: [approved], spec: { expirationSeconds: 600 } }),
      csr('refused', { conditions: [approved], spec: { expirationSeconds: 601 } }),
      csr('server', { conditions: [approved], spec: { usages: ['client auth', 'server auth'] } }),
      csr('useless', { conditions: [approved], spec: { usages: ['digital signature'] } }),
      csr('pending', {}),
      csr('denied', { conditions: [approved, condition('Denied')] }),
      csr('failed', { conditions: [approved, condition('Failed')] }),
      csr('issued', { conditions: [approved], certificate: 'b3RoZXI=' }),
      csr('other', { conditions: [approved], spec: { signerName: 'example.com/signer' } }),
    ])
      api.put(requests, cluster, object);
    await advanceUntilIdle(clock, 1000, [controller]);
    const statuses = api.all(requests, cluster).map(({ metadata, status }) => {
      const { certificate = '', conditions = [] } = status as {
        certificate?: string;
        conditions?: { type: string; message?: string }[];
      };
      const failed = conditions.find(({ type }) => type === 'Failed')?.message;
      return [metadata.name, Buffer.from(certificate, 'base64').toString(), failed];
    });
    expect(Object.fromEntries(statuses.map(([name, ...rest]) => [name, rest]))).toEqual({
      approved: ['a certificate', undefined],
      refused: ['', 'no'],
      server: ['', 'invalid usage for client certificate: server auth'],
      useless: ['', 'missing required usage for client certificate: client auth'],
      pending: ['', undefined],
      denied: ['', undefined],
      failed: ['', undefined],
      issued: ['other', undefined],
      other: ['', undefined],
    });
    expect(asked.map(({ requestPem, cluster: of }) => [requestPem, of])).toEqual([
      ['a request', cluster],
      ['a request', cluster],
    ]);
  } finally {
    await controller.stop();
  }
});

test('old requests are deleted', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const controller = csrCleanerController({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
  });
  const { authority } = await testCertificates();
  const { certificatePem } = await authority.issueClient({ user: 'ann' });
  const certificate = Buffer.from(certificatePem).toString('base64');
  await controller.start();
  try {
    const start = clock.now();
    const at = (ms: number): string => new Date(start + ms).toISOString();
    const put = (name: string, status: { conditions?: object[]; certificate?: string }): void => {
      const object = csr(name, status);
      object.metadata.creationTimestamp = at(0);
      api.put(requests, cluster, object);
    };
    put('pending', {});
    put('approved', { conditions: [condition('Approved', start)] });
    put('issued', { conditions: [condition('Approved', start)], certificate });
    put('denied', { conditions: [condition('Denied', start)] });
    put('failed', { conditions: [condition('Approved', start), condition('Failed', start)] });
    put('broken', { conditions: [condition('Approved', start)], certificate: 'bm9uZQ==' });
    const names = (): string[] =>
      api
        .all(requests, cluster)
        .map(({ metadata }) => metadata.name ?? '')
        .toSorted();
    await clock.advance(hour / 2);
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(names()).toEqual(['approved', 'broken', 'denied', 'failed', 'issued', 'pending']);
    await clock.advance(hour);
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(names()).toEqual(['approved', 'pending']);
    await clock.advance(24 * hour);
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(names()).toEqual([]);
  } finally {
    await controller.stop();
  }
});
