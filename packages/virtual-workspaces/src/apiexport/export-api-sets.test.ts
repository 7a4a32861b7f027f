import { expect, test } from '@jest/globals';
import type { APIExport, APIResourceSchema, ResourceDefinition } from '@multiplane/apis';
import type { Informer, InformerHandlers } from '@multiplane/client';
import type { ServedResource } from '@multiplane/virtual-framework';
import { eventLoopIdle } from '@multiplane/testing';
import { ExportApiSets } from './export-api-sets.ts';
import { dependenciesOfExport, type ExportResourceFactory } from './export-resources.ts';

const exportNamed = (name: string): APIExport =>
  ({ metadata: { name, uid: name }, status: { identityHash: name } }) as unknown as APIExport;

/** Sets over exports of one resource each; counts how often a resource is made. */
class Fixture {
  readonly made: string[] = [];
  readonly retired: string[] = [];
  revision = 1;
  readonly sets: ExportApiSets;
  #handlers: InformerHandlers<APIExport> = {};

  constructor(maxResources?: number) {
    const informer = <T>(attach: (handlers: T) => void) => ({
      addHandlers: (handlers: T) => (attach(handlers), () => undefined),
    });
    this.sets = new ExportApiSets(
      { maxResources },
      {
        exports: informer<InformerHandlers<APIExport>>(
          (handlers) => (this.#handlers = handlers),
        ) as unknown as Informer<APIExport>,
        schemas: informer(() => undefined) as unknown as Informer<APIResourceSchema>,
        factory: {
          prepare: () => Promise.resolve(),
          of: (cluster: string, name: string) => ({
            resources: [
              {
                definition: { group: 'example.dev', version: 'v1', resource: 'widgets' } as ResourceDefinition,
                upstreamResource: 'widgets',
                labelSelector: undefined,
                fingerprint: `${name} ${this.revision}`,
              },
            ],
            dependencies: new Set(dependenciesOfExport(exportNamed(name), { cluster, namespace: '', name } as never)),
          }),
        } as unknown as ExportResourceFactory,
        serve: ({ name }, { definition }, signal) => {
          this.made.push(name);
          signal.addEventListener('abort', () => this.retired.push(name));
          return { definition } as unknown as ServedResource;
        },
      },
    );
  }

  request(name: string, work: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    return this.sets.serve({ cluster: 'c', name }, work);
  }

  change(name: string): void {
    this.revision++;
    const reference = { cluster: 'c', namespace: '', name } as never;
    this.#handlers.updated?.(exportNamed(name), exportNamed(name), reference);
  }
}

test('the sets of thousands of exports that are used in turns are built once', async () => {
  const fixture = new Fixture();
  const names = Array.from({ length: 3_000 }, (_, index) => `e${index}`);
  for (let round = 0; round < 2; round++) for (const name of names) await fixture.request(name);
  expect(fixture.made).toEqual(names);
});

test('beyond the limit the set that was used least recently is evicted, but none with a request in flight', async () => {
  const fixture = new Fixture(3);
  const open = Promise.withResolvers<void>();
  const request = fixture.request('open', () => open.promise);
  for (const name of ['a', 'b', 'a', 'c']) await fixture.request(name);
  fixture.made.length = 0;
  for (const name of ['open', 'a', 'c', 'b']) await fixture.request(name);
  expect(fixture.made).toEqual(['b']);
  open.resolve();
  await request;
});

test('a change rebuilds a set with requests at once and ends its watches, another one at its next request', async () => {
  const fixture = new Fixture();
  const open = Promise.withResolvers<void>();
  const request = fixture.request('watched', () => open.promise);
  await fixture.request('idle');
  fixture.made.length = 0;
  for (const name of ['watched', 'idle']) fixture.change(name);
  await eventLoopIdle();
  expect(fixture.made).toEqual(['watched']);
  expect(fixture.retired).toEqual(['watched']);
  await fixture.request('idle');
  expect(fixture.made).toEqual(['watched', 'idle']);
  open.resolve();
  await request;
});
