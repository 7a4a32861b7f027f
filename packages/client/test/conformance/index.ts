import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '../lister.ts';
export { ScriptedServer } from './scripted-server.ts';

/** An informer of some namespaced resource that holds nothing yet, and the other side of it. */
export interface InformerSubject {
  readonly informer: Informer;
  /** Creates or replaces an object with the label `text`. */
  put(reference: ObjectReference, text: string): Promise<void>;
  remove(reference: ObjectReference): Promise<void>;
  /** Cuts the informer off its source, does something there, and lets it come back. */
  interrupted(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Label that holds the text of an object. */
export const textLabel = 'text';

const one = 'one' as LogicalClusterName;
const two = 'two' as LogicalClusterName;
const at = (cluster: LogicalClusterName, namespace: string, name: string): ObjectReference => ({
  cluster,
  namespace,
  name,
});
const textOf = (object: DeepReadonly<KubeObject>): string => object.metadata.labels?.[textLabel] ?? '';
const show = ({ cluster, namespace, name }: ObjectReference): string => `${cluster}|${namespace}/${name}`;

/**
 * The contract of `Informer` as tests; run by whoever implements one. `open` is called before every test and its result
 * closed after it.
 */
export function informerConformance(name: string, open: () => Promise<InformerSubject>): void {
  describe(`informer conformance: ${name}`, () => {
    let subject: InformerSubject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject.close();
    });

    /** Records what a handler hears. */
    const listen = (): { told: string[]; stop: () => void } => {
      const told: string[] = [];
      const stop = subject.informer.addHandlers({
        added: (object, reference) => told.push(`added ${show(reference)} ${textOf(object)}`),
        updated: (object, old, reference) => told.push(`updated ${show(reference)} ${textOf(old)}→${textOf(object)}`),
        deleted: (old, reference) => told.push(`deleted ${show(reference)} ${textOf(old)}`),
        synced: () => told.push('synced'),
      });
      return { told, stop };
    };

    test('reads one object, one namespace, one cluster, or all, in the order of keys', async () => {
      const { informer } = subject;
      await informer.synced;
      for (const reference of [at(two, 'n', 'a'), at(one, 'n', 'b'), at(one, 'm', 'c'), at(one, 'n', 'a')])
        await subject.put(reference, show(reference));
      await until(() => expect(informer.list().length).toBe(4));
      expect(informer.list().map(textOf)).toEqual(['one|m/c', 'one|n/a', 'one|n/b', 'two|n/a']);
      expect(informer.list({ cluster: one }).map(textOf)).toEqual(['one|m/c', 'one|n/a', 'one|n/b']);
      expect(informer.list({ cluster: one, namespace: 'n' }).map(textOf)).toEqual(['one|n/a', 'one|n/b']);
      expect(informer.list({ namespace: 'n' }).map(textOf)).toEqual(['one|n/a', 'one|n/b', 'two|n/a']);
      expect(informer.list({ cluster: one, namespace: 'none' })).toEqual([]);
      expect(textOf(informer.get(at(two, 'n', 'a')) as KubeObject)).toBe('two|n/a');
      expect(informer.get(at(two, 'm', 'c'))).toBeUndefined();
      expect(informer.get(at(one, '', 'n/a'))).toBeUndefined();
      expect(informer.get(at(one, 'n', ''))).toBeUndefined();
    });

    test('hands out what nobody can change, and the same to all', async () => {
      await subject.put(at(one, 'n', 'a'), 'x');
      await until(() => expect(subject.informer.get(at(one, 'n', 'a'))).toBeDefined());
      const object = subject.informer.get(at(one, 'n', 'a')) as KubeObject;
      expect(subject.informer.list()[0]).toBe(object);
      expect(() => {
        object.metadata.labels = {};
      }).toThrow(TypeError);
    });

    test('tells a handler what is there, that this was all, and then every change in order', async () => {
      await subject.put(at(one, 'n', 'a'), '1');
      await until(() => expect(subject.informer.list().length).toBe(1));
      const { told } = listen();
      await until(() => expect(told).toContain('synced'));
      await subject.put(at(one, 'n', 'a'), '2');
      await subject.put(at(two, 'n', 'b'), '1');
      await subject.remove(at(one, 'n', 'a'));
      await subject.put(at(one, 'n', 'a'), '3');
      await until(() => expect(told.at(-1)).toBe('added one|n/a 3'));
      expect(told).toEqual([
        'added one|n/a 1',
        'synced',
        'updated one|n/a 1→2',
        'added two|n/b 1',
        'deleted one|n/a 2',
        'added one|n/a 3',
      ]);
    });

    test('a handler that was stopped hears nothing more, the others do', async () => {
      await subject.informer.synced;
      const stopped = listen();
      const listening = listen();
      await until(() => expect([...stopped.told, ...listening.told]).toEqual(['synced', 'synced']));
      stopped.stop();
      await subject.put(at(one, 'n', 'a'), '1');
      await until(() => expect(listening.told).toContain('added one|n/a 1'));
      expect(stopped.told).toEqual(['synced']);
    });

    test('a handler that was stopped at once hears nothing at all', async () => {
      await subject.put(at(one, 'n', 'a'), '1');
      await until(() => expect(subject.informer.list().length).toBe(1));
      const stopped = listen();
      stopped.stop();
      const listening = listen();
      await until(() => expect(listening.told).toContain('synced'));
      expect(stopped.told).toEqual([]);
    });

    test('tells each difference once after it was cut off, and nothing of what stayed', async () => {
      for (const name_ of ['changes', 'goes', 'stays']) await subject.put(at(one, 'n', name_), '1');
      await until(() => expect(subject.informer.list().length).toBe(3));
      const { told } = listen();
      await until(() => expect(told).toContain('synced'));
      told.length = 0;
      await subject.interrupted(async () => {
        await subject.remove(at(one, 'n', 'goes'));
        await subject.put(at(one, 'n', 'changes'), '2');
        await subject.put(at(two, 'n', 'comes'), '1');
      });
      await until(() => expect(told.length).toBeGreaterThanOrEqual(3));
      await subject.put(at(one, 'n', 'stays'), '2');
      await until(() => expect(told.at(-1)).toBe('updated one|n/stays 1→2'));
      expect(told.slice(0, -1).sort()).toEqual([
        'added two|n/comes 1',
        'deleted one|n/goes 1',
        'updated one|n/changes 1→2',
      ]);
      expect(subject.informer.list().map(textOf)).toEqual(['2', '2', '1']);
    });
  });
}

/** Tries at every turn of the event loop, for as long as a loaded machine may need. */
async function until(expectation: () => void): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    try {
      expectation();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
}
