import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { CustomResources, type ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { eventually } from '@multiplane/testing';
import type { ConversionRequest } from '../../webhooks/conversion-review.ts';
import { DecodedObjects } from '../store/decoded-objects.ts';
import { encodeForStorage } from '../codec/object-codec.ts';
import { ObjectConversions } from './object-conversions.ts';

const version = (name: string, storage: boolean): object => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'string' } } } },
});
const [, target] = new CustomResources().definitionsOf(
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'foos.example.com', uid: 'u', generation: 1 },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'foos', kind: 'Foo' },
      versions: [version('v1', true), version('v2', false)],
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x' } },
      },
    },
  },
  new AbortController().signal,
) as [ResourceDefinition, ResourceDefinition];

let revisions = 0;
function entry(bytes = 100): CacheEntry {
  const revision = ++revisions;
  const object = {
    apiVersion: 'example.com/v1',
    kind: 'Foo',
    metadata: {
      name: `n${revision}`,
      namespace: 'default',
      uid: `u${revision}`,
      creationTimestamp: '2026-01-02T03:04:05Z',
    },
    spec: 'x'.repeat(bytes),
  };
  return { key: `/k/n${revision}`, value: encodeForStorage(object), revision, attachment: undefined };
}

/** A webhook that responds when the test releases it. */
class Hook {
  readonly asked: string[][] = [];
  readonly signals: AbortSignal[] = [];
  gate: Promise<void> = Promise.resolve();
  readonly convert = async ({ objects, desired, signal }: ConversionRequest): Promise<KubeObject[]> => {
    this.asked.push(objects.map(({ metadata }) => metadata.name ?? ''));
    this.signals.push(signal);
    await this.gate;
    return objects.map((object) => ({ ...object, apiVersion: desired }));
  };
}

let hook: Hook;
let conversions: ObjectConversions;
beforeEach(() => {
  hook = new Hook();
  const decoded = new DecodedObjects({ maxBytes: 16 * 1024 * 1024 });
  conversions = new ObjectConversions({ maxBytes: 40_000 }, { reviewer: hook, decoded });
});
const never = new AbortController().signal;
const ask = (entries: readonly CacheEntry[], signal = never): ReturnType<ObjectConversions['ofEntries']> =>
  conversions.ofEntries(target, entries, { signal, list: true });

describe('conversions', () => {
  test('of a list are made in one call, of a large one in several', async () => {
    const small = [entry(), entry(), entry()];
    expect((await ask(small)).size).toBe(3);
    expect(hook.asked.map((names) => names.length)).toEqual([3]);
    const big = Array.from({ length: 5 }, () => entry(1_000_000));
    const converted = await ask(big);
    expect(hook.asked.slice(1).map((names) => names.length)).toEqual([2, 2, 1]);
    expect(big.map((one) => converted.get(one)?.metadata.resourceVersion)).toEqual(
      big.map(({ revision }) => String(revision)),
    );
  });

  test('are cached within a limit, and frozen', async () => {
    for (let turn = 0; turn < 50; turn++) {
      const [object] = (await ask([entry(1000)])).values();
      expect(Object.isFrozen(object)).toBe(true);
      expect(conversions.bytes).toBeLessThanOrEqual(40_000);
    }
    const last = entry(1000);
    await ask([last]);
    const asked = hook.asked.length;
    await ask([last]);
    expect(hook.asked).toHaveLength(asked);
  });

  test('in flight are shared', async () => {
    let open: () => void = () => undefined;
    hook.gate = new Promise((resolve) => (open = resolve));
    const [one, two] = [entry(), entry()];
    const first = ask([one]);
    const second = ask([one, two]);
    open();
    expect([(await first).size, (await second).size]).toEqual([1, 2]);
    expect(hook.asked).toEqual([['n' + String(one.revision)], ['n' + String(two.revision)]]);
  });

  test('are cancelled when the last waiting request is aborted', async () => {
    hook.gate = new Promise(() => undefined);
    const one = entry();
    const [here, there] = [new AbortController(), new AbortController()];
    const waits = [ask([one], here.signal), ask([one], there.signal)].map((wait) =>
      wait.catch((error: unknown) => error),
    );
    await eventually(() => expect(hook.asked).toHaveLength(1));
    here.abort(new Error('gone'));
    expect(await waits[0]).toEqual(new Error('gone'));
    expect(hook.signals[0]?.aborted).toBe(false);
    there.abort(new Error('gone, too'));
    expect(await waits[1]).toEqual(new Error('gone, too'));
    expect(hook.signals[0]?.aborted).toBe(true);
    // A later request does not see the cancellation: the webhook is called again.
    hook.gate = Promise.resolve();
    expect((await ask([one])).size).toBe(1);
    expect(hook.asked).toHaveLength(2);
  });

  test('that fail are reported to all waiting requests, and retried by the next one', async () => {
    const one = entry();
    let fail: (error: Error) => void = () => undefined;
    hook.gate = new Promise((_resolve, reject) => (fail = reject));
    const waits = [ask([one]), ask([one])].map((wait) => wait.catch((error: unknown) => error));
    await eventually(() => expect(hook.asked).toHaveLength(1));
    fail(new Error('no'));
    expect(await Promise.all(waits)).toEqual([new Error('no'), new Error('no')]);
    hook.gate = Promise.resolve();
    expect((await ask([one])).size).toBe(1);
  });
});
