import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '../../src/lister.ts';
export { ScriptedServer } from './scripted-server.ts';

/** An empty informer of a namespaced resource, with write access to its source. */
export interface InformerSubject {
  readonly informer: Informer;
  /** Creates or replaces an object with the label `text`. */
  put(reference: ObjectReference, text: string): Promise<void>;
  remove(reference: ObjectReference): Promise<void>;
  /** Disconnects the informer from its source, calls `meanwhile`, and reconnects it. */
  whileDisconnected(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** The label with the text of an object. */
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

/** The contract of `Informer` as tests for every implementation. `open` is called before each test, `close` after it. */
export function informerConformance(name: string, open: () => Promise<InformerSubject>): void {
  describe(`informer conformance: ${name}`, () => {
    let subject: InformerSubject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject.close();
    });

    /** Records the events of a handler. */
    const listen = (): { events: string[]; stop: () => void } => {
      const events: string[] = [];
      const stop = subject.informer.addHandlers({
        added: (object, reference) => events.push(`added ${show(reference)} ${textOf(object)}`),
        updated: (object, old, reference) => events.push(`updated ${show(reference)} ${textOf(old)}→${textOf(object)}`),
        deleted: (old, reference) => events.push(`deleted ${show(reference)} ${textOf(old)}`),
        synced: () => events.push('synced'),
      });
      return { events, stop };
    };

    test('reads one object, a namespace, a cluster or all, in key order', async () => {
      const { informer } = subject;
      await informer.synced;
      for (const reference of [at(two, 'n', 'a'), at(one, 'n', 'b'), at(one, 'm', 'c'), at(one, 'n', 'a')])
        await subject.put(reference, show(reference));
      await eventually(() => expect(informer.list().length).toBe(4));
      expect(informer.list().map(textOf)).toEqual(['one|m/c', 'one|n/a', 'one|n/b', 'two|n/a']);
      expect(informer.list({ cluster: one }).map(textOf)).toEqual(['one|m/c', 'one|n/a', 'one|n/b']);
      expect(informer.list({ cluster: one, namespace: 'n' }).map(textOf)).toEqual(['one|n/a', 'one|n/b']);
      expect(informer.list({ namespace: 'n' }).map(textOf)).toEqual(['one|n/a', 'one|n/b', 'two|n/a']);
      expect(informer.list({ cluster: one, namespace: 'none' })).toEqual([]);
      expect(textOf(informer.get(at(two, 'n', 'a')) as KubeObject)).toBe('two|n/a');
      expect(informer.get(at(two, 'm', 'c'))).toBeUndefined();
      expect(informer.get(at(one, '', 'n/a'))).toBeUndefined();
      expect(informer.get(at(one, 'n', ''))).toBeUndefined();
      // References come from paths and from objects that users wrote.
      for (const cluster of ['*', '', '..', 'one/n'])
        expect(informer.get(at(cluster as never, 'n', 'a'))).toBeUndefined();
      for (const name of ['.', '..', '*']) expect(informer.get(at(one, name, name))).toBeUndefined();
    });

    test('returns frozen objects, the same one to all callers', async () => {
      await subject.put(at(one, 'n', 'a'), 'x');
      await eventually(() => expect(subject.informer.get(at(one, 'n', 'a'))).toBeDefined());
      const object = subject.informer.get(at(one, 'n', 'a')) as KubeObject;
      expect(subject.informer.list()[0]).toBe(object);
      expect(() => {
        object.metadata.labels = {};
      }).toThrow(TypeError);
    });

    test('calls a handler for the initial list, synced, and then every change in order', async () => {
      await subject.put(at(one, 'n', 'a'), '1');
      await eventually(() => expect(subject.informer.list().length).toBe(1));
      const { events } = listen();
      await eventually(() => expect(events).toContain('synced'));
      await subject.put(at(one, 'n', 'a'), '2');
      await subject.put(at(two, 'n', 'b'), '1');
      await subject.remove(at(one, 'n', 'a'));
      await subject.put(at(one, 'n', 'a'), '3');
      await eventually(() => expect(events.at(-1)).toBe('added one|n/a 3'));
      expect(events).toEqual([
        'added one|n/a 1',
        'synced',
        'updated one|n/a 1→2',
        'added two|n/b 1',
        'deleted one|n/a 2',
        'added one|n/a 3',
      ]);
    });

    test('does not call removed handlers any more', async () => {
      await subject.informer.synced;
      const stopped = listen();
      const listening = listen();
      await eventually(() => expect([...stopped.events, ...listening.events]).toEqual(['synced', 'synced']));
      stopped.stop();
      await subject.put(at(one, 'n', 'a'), '1');
      await eventually(() => expect(listening.events).toContain('added one|n/a 1'));
      expect(stopped.events).toEqual(['synced']);
    });

    test('does not call a handler that is removed immediately', async () => {
      await subject.put(at(one, 'n', 'a'), '1');
      await eventually(() => expect(subject.informer.list().length).toBe(1));
      const stopped = listen();
      stopped.stop();
      const listening = listen();
      await eventually(() => expect(listening.events).toContain('synced'));
      expect(stopped.events).toEqual([]);
    });

    test('notifies of each difference once after a reconnect, and of nothing that is unchanged', async () => {
      for (const name_ of ['changes', 'goes', 'stays']) await subject.put(at(one, 'n', name_), '1');
      await eventually(() => expect(subject.informer.list().length).toBe(3));
      const { events } = listen();
      await eventually(() => expect(events).toContain('synced'));
      events.length = 0;
      await subject.whileDisconnected(async () => {
        await subject.remove(at(one, 'n', 'goes'));
        await subject.put(at(one, 'n', 'changes'), '2');
        await subject.put(at(two, 'n', 'comes'), '1');
      });
      await eventually(() => expect(events.length).toBeGreaterThanOrEqual(3));
      await subject.put(at(one, 'n', 'stays'), '2');
      await eventually(() => expect(events.at(-1)).toBe('updated one|n/stays 1→2'));
      expect(events.slice(0, -1).sort()).toEqual([
        'added two|n/comes 1',
        'deleted one|n/goes 1',
        'updated one|n/changes 1→2',
      ]);
      expect(subject.informer.list().map(textOf)).toEqual(['2', '2', '1']);
    });
  });
}
