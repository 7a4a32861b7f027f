import { describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject, isStatusError } from '@multiplane/apimachinery';
import type { WebhookConversion } from '@multiplane/apis';
import {
  WebhookAuthorityError,
  type WebhookCall,
  WebhookCallError,
  type WebhookClient,
} from '@multiplane/generic-server';
import { ConversionReviewer } from './conversion-review.ts';

const conversion = (change: Partial<WebhookConversion> = {}): WebhookConversion => ({
  key: 'k',
  tenant: 'root',
  client: { url: 'https://hook.example.com/convert', service: undefined, caBundle: 'PEM' },
  reviewVersions: ['v1', 'v1beta1'],
  ...change,
});

const object = (name: string): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Foo',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    creationTimestamp: '2026-01-02T03:04:05Z',
    generation: 1,
    labels: { a: 'b' },
    finalizers: ['example.com/x'],
  },
  spec: { old: 1 },
});

/** A valid response. */
function good(review: JsonObject): JsonObject {
  const { uid, desiredAPIVersion, objects } = review['request'] as JsonObject;
  const convertedObjects = (objects as JsonObject[]).map((item) => ({
    ...item,
    apiVersion: desiredAPIVersion as string,
  }));
  return {
    apiVersion: review['apiVersion'] as string,
    kind: 'ConversionReview',
    response: { uid: uid as string, convertedObjects, result: { status: 'Success' } },
  };
}

interface Asked {
  readonly call: WebhookCall;
  readonly review: JsonObject;
}

function reviewer(answer: (review: JsonObject) => unknown): {
  readonly reviewer: ConversionReviewer;
  readonly asked: Asked[];
} {
  const asked: Asked[] = [];
  const client = {
    post: (call: Parameters<WebhookClient['post']>[0]): Promise<Buffer> => {
      const review = JSON.parse(call.body.toString()) as JsonObject;
      asked.push({ call, review });
      const value = answer(review);
      return Promise.resolve(Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)));
    },
  };
  return { reviewer: new ConversionReviewer({ client, newUid: () => 'review-uid' }), asked };
}

async function convert(
  answer: (review: JsonObject) => unknown,
  options: {
    readonly objects?: readonly KubeObject[];
    readonly list?: boolean;
    readonly versions?: readonly string[];
  } = {},
): Promise<{ readonly converted?: KubeObject[]; readonly message?: string; readonly asked: readonly Asked[] }> {
  const { reviewer: asks, asked } = reviewer(answer);
  try {
    const converted = await asks.convert({
      conversion: conversion(options.versions === undefined ? {} : { reviewVersions: options.versions }),
      desired: 'example.com/v2',
      objects: options.objects ?? [object('a')],
      list: options.list ?? false,
      signal: new AbortController().signal,
    });
    return { converted, asked };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    expect([error.code, error.reason]).toEqual([500, '']);
    return { message: error.message, asked };
  }
}

describe('a ConversionReview', () => {
  test('contains the objects and the desired version', async () => {
    const { converted, asked } = await convert(good, { objects: [object('a'), object('b')], list: true });
    expect(asked[0]?.review).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: { uid: 'review-uid', desiredAPIVersion: 'example.com/v2', objects: [object('a'), object('b')] },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    });
    expect(asked[0]?.call).toMatchObject({
      url: 'https://hook.example.com/convert?timeout=30s',
      caBundle: 'PEM',
      timeoutMs: 30_000,
      tenant: 'root',
    });
    expect(converted?.map(({ apiVersion, metadata }) => [apiVersion, metadata.name])).toEqual([
      ['example.com/v2', 'a'],
      ['example.com/v2', 'b'],
    ]);
  });

  test.each([
    [['v1beta1', 'v1'], 'v1beta1'],
    [['v9', 'v1'], 'v1'],
    [['v1'], 'v1'],
  ])('of %j has version %s', async (versions, spoken) => {
    const { asked, converted } = await convert(good, { versions });
    expect(asked[0]?.review['apiVersion']).toBe(`apiextensions.k8s.io/${spoken}`);
    expect(converted).toHaveLength(1);
  });

  test('is not sent in an unsupported version', async () => {
    const { message, asked } = await convert(good, { versions: ['v9'] });
    expect(message).toBe('no supported conversion review versions');
    expect(asked).toHaveLength(0);
  });

  test('lets the webhook change labels and annotations only', async () => {
    const { converted } = await convert((review) => {
      const answer = good(review) as { response: { convertedObjects: KubeObject[] } };
      const [item] = answer.response.convertedObjects as [KubeObject];
      item.metadata = {
        ...item.metadata,
        labels: { c: 'd' },
        annotations: { e: 'f' },
        finalizers: [],
        generation: 7,
        creationTimestamp: '2000-01-01T00:00:00Z',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'y' }],
      };
      item['spec'] = { new: 1 };
      return answer;
    });
    expect(converted).toEqual([
      {
        ...object('a'),
        apiVersion: 'example.com/v2',
        metadata: { ...object('a').metadata, labels: { c: 'd' }, annotations: { e: 'f' } },
        spec: { new: 1 },
      },
    ]);
  });

  test('does not let the webhook change labels and annotations of kcp', async () => {
    const sent = object('a');
    sent.metadata.annotations = { 'kcp.io/cluster': 'mine', note: 'x' };
    sent.metadata.labels = { 'claimed.internal.apis.kcp.io/abc': 'def' };
    const answers: KubeObject['metadata'][] = [
      {
        annotations: { 'kcp.io/cluster': 'yours', 'kcp.io/path': 'root:yours', mykcp: 'y' },
        labels: { 'internal.kcp.io/x': 'y' },
      },
      { annotations: {} },
    ];
    const seen = [];
    for (const answer of answers) {
      const { converted } = await convert(
        (review) => {
          const answered = good(review) as { response: { convertedObjects: KubeObject[] } };
          const [item] = answered.response.convertedObjects as [KubeObject];
          const { labels: _, annotations: __, ...metadata } = item.metadata;
          item.metadata = { ...metadata, ...answer };
          return answered;
        },
        { objects: [sent] },
      );
      seen.push([converted?.[0]?.metadata.annotations, converted?.[0]?.metadata.labels]);
    }
    const labels = { 'claimed.internal.apis.kcp.io/abc': 'def' };
    expect(seen).toEqual([
      [{ 'kcp.io/cluster': 'mine', mykcp: 'y' }, labels],
      [{ 'kcp.io/cluster': 'mine' }, labels],
    ]);
  });

  test('keeps integers beyond double precision', async () => {
    const { converted } = await convert((review) =>
      Buffer.from(JSON.stringify(good(review)).replace('"old":1', '"old":9007199254740993')),
    );
    expect(converted?.[0]?.['spec']).toEqual({ old: 9007199254740993n });
  });

  test('treats names of Object.prototype members as data', async () => {
    const { converted } = await convert((review) =>
      Buffer.from(JSON.stringify(good(review)).replace('"old":1', '"__proto__":{"x":1}')),
    );
    expect(Object.keys(converted?.[0]?.['spec'] as object)).toEqual(['__proto__']);
  });
});

const failed = 'conversion webhook for example.com/v1, Kind=Foo failed: ';

describe('an invalid response', () => {
  const respond =
    (response: unknown, head: object = {}) =>
    (review: JsonObject): unknown => ({ ...good(review), ...head, response });
  const success = { status: 'Success' };

  test.each<[string, (review: JsonObject) => unknown, string]>([
    ['no response', respond(undefined), `${failed}no response provided`],
    [
      'another uid',
      respond({ uid: 'other', result: success }),
      `${failed}expected response.uid="review-uid", got "other"`,
    ],
    ['no uid', respond({ result: success }), `${failed}expected response.uid="review-uid", got ""`],
    [
      'another version',
      respond({}, { apiVersion: 'apiextensions.k8s.io/v1beta1' }),
      `${failed}expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview`,
    ],
    [
      'no kind',
      () => ({}),
      `${failed}expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=`,
    ],
    [
      'a failure',
      respond({ uid: 'review-uid', result: { status: 'Failure' } }),
      `${failed}response.result.status was 'Failure', not 'Success'`,
    ],
    [
      'a failure that says why',
      respond({ uid: 'review-uid', result: { status: 'Failure', message: 'cannot do that' } }),
      `${failed}cannot do that`,
    ],
    ['no result', respond({ uid: 'review-uid' }), `${failed}response.result.status was '', not 'Success'`],
    [
      'no objects',
      respond({ uid: 'review-uid', result: success }),
      'conversion webhook for example.com/v1, Kind=Foo returned 0 objects, expected 1',
    ],
    [
      'nothing',
      () => Buffer.alloc(0),
      `${failed}0-length response with status code: 200 and content type: application/json`,
    ],
  ])('%s', async (_name, answer, message) => {
    expect((await convert(answer)).message).toBe(message);
  });

  test('not JSON', async () => {
    expect((await convert(() => Buffer.from('<html>'))).message).toContain(
      `${failed}couldn't get version/kind; json parse error: `,
    );
  });

  test('v1beta1 is accepted without a uid', async () => {
    const { converted } = await convert(
      (review) => ({ response: { ...(good(review)['response'] as JsonObject), uid: 'any' } }),
      { versions: ['v1beta1'] },
    );
    expect(converted).toHaveLength(1);
  });

  const altered =
    (alter: (item: KubeObject) => unknown, index = 0) =>
    (review: JsonObject): unknown => {
      const answer = good(review) as { response: { convertedObjects: unknown[] } };
      const items = answer.response.convertedObjects;
      const item = items[index] as KubeObject;
      items[index] = alter(item) ?? item;
      return answer;
    };
  const metadata = (change: object) => (item: KubeObject) => ({ ...item, metadata: { ...item.metadata, ...change } });

  test.each<[string, (item: KubeObject) => unknown, string]>([
    [
      'in another version',
      (item) => ({ ...item, apiVersion: 'example.com/v3' }),
      'object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)',
    ],
    [
      'of another kind',
      (item) => ({ ...item, kind: 'Bar' }),
      'object at index 0: invalid kind (expected Foo, received Bar)',
    ],
    ['with another name', metadata({ name: 'z' }), 'object: must have the same name: a != z'],
    ['with another namespace', metadata({ namespace: 'z' }), 'object: must have the same namespace: default != z'],
    ['with another uid', metadata({ uid: 'z' }), 'object: must have the same UID: uid-a != z'],
    ['without metadata', (item) => ({ ...item, metadata: undefined }), 'object: must have the same name: a != '],
    [
      'with a label that is no text',
      metadata({ labels: { a: 1 } }),
      'metadata: metadata.labels[a] must be a string, but is int64 in converted object',
    ],
    [
      'with labels that are none',
      metadata({ labels: 'x' }),
      'metadata: invalid metadata.labels of type string in converted object',
    ],
    [
      'without a kind',
      () => ({ apiVersion: 'example.com/v2' }),
      'object: Object \'Kind\' is missing in \'{"apiVersion":"example.com/v2"}\'',
    ],
  ])('an object %s', async (_name, alter, message) => {
    expect((await convert(altered(alter))).message).toBe(
      `conversion webhook for example.com/v1, Kind=Foo returned invalid ${message}`,
    );
  });

  test('an invalid label', async () => {
    const { message } = await convert(altered(metadata({ labels: { 'a b': 'c' } })));
    expect(message).toContain('returned invalid metadata: metadata.labels: Invalid value: "a b"');
  });

  test.each<[(item: KubeObject) => unknown, string]>([
    [metadata({ uid: 'z' }), 'converted object at index 1: must have the same UID: uid-b != z'],
    [
      (item) => ({ ...item, apiVersion: 'example.com/v1' }),
      'converted object at index 1: invalid groupVersion (expected example.com/v2, received example.com/v1)',
    ],
    [
      metadata({ annotations: { a: 1 } }),
      'metadata in object at index 1: metadata.annotations[a] must be a string, but is int64 in converted object',
    ],
  ])('an invalid item fails the list %#', async (alter, message) => {
    const objects = [object('a'), object('b'), object('c')];
    expect((await convert(altered(alter, 1), { objects, list: true })).message).toBe(
      `conversion webhook for example.com/v1, Kind=Foo returned invalid ${message}`,
    );
  });
});

describe('a webhook that cannot be called', () => {
  const asking = (post: () => Promise<Buffer>, change: Partial<WebhookConversion> = {}): Promise<KubeObject[]> =>
    new ConversionReviewer({ client: { post }, newUid: () => 'u' }).convert({
      conversion: conversion(change),
      desired: 'example.com/v2',
      objects: [object('a')],
      list: false,
      signal: new AbortController().signal,
    });

  test('fails with the error of the call', async () => {
    const post = (): Promise<Buffer> => Promise.reject(new WebhookCallError('Post "https://x": EOF'));
    await expect(asking(post)).rejects.toMatchObject({
      code: 500,
      reason: '',
      message: `${failed}Post "https://x": EOF`,
    });
  });

  test('with an invalid CA bundle prevents serving the kind', async () => {
    const post = (): Promise<Buffer> => Promise.reject(new WebhookAuthorityError('no PEM'));
    await expect(asking(post)).rejects.toMatchObject({
      code: 500,
      reason: 'InternalError',
      message: 'Internal error occurred: error resolving resource',
    });
  });

  test('by service is not found', async () => {
    const post = (): Promise<Buffer> => Promise.reject(new Error('called'));
    const client = {
      url: undefined,
      caBundle: undefined,
      service: { name: 'hook', namespace: 'kube-system', path: '/convert', port: 443 },
    };
    await expect(asking(post, { client })).rejects.toMatchObject({
      message: `${failed}Post "https://hook.kube-system.svc:443/convert?timeout=30s": dial tcp: lookup hook.kube-system.svc: no such host`,
    });
  });
});
