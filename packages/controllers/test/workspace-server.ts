import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import { PathAndNameIndex, type Informer } from '@multiplane/client';
import { silentLogger, systemClock, type Clock, type Runnable } from '@multiplane/component-base';
import { apiBindingDeletionController } from '../apis/api-binding-deletion-controller.ts';
import { namespaceController } from '../core/namespace-controller.ts';
import { DefaultBindingWriter } from '../tenancy/default-binding-writer.ts';
import {
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  workspaceTypes,
  type LogicalCluster,
  type WorkspaceType,
} from '../tenancy/kinds.ts';
import { logicalClusterController } from '../tenancy/logical-cluster-controller.ts';
import { workspaceControllers } from '../tenancy/workspace-controller.ts';
import type { UpdateWhole } from '../runtime/update-status.ts';
import type { ContentRemover } from '../core/content-remover.ts';
import type { FakeApi } from './fake-api.ts';
import { fakeContent } from './fake-content.ts';

/** The process is gone: whatever it would write from now on is lost. */
class Killed extends Error {
  override readonly name = 'Killed';
}

/** Everything happens in the moment at which the API marks what is deleted. */
const clock: Clock = {
  now: () => Date.parse('2026-01-01T00:00:00Z'),
  monotonic: () => systemClock.monotonic(),
  after: (milliseconds, callback) => systemClock.after(milliseconds, callback),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds, signal),
};

/** The controllers of a server that take part in the life of a workspace. */
export class WorkspaceServer {
  readonly #running: readonly Runnable[];
  private constructor(running: readonly Runnable[]) {
    this.#running = running;
  }

  /** Runs on what `api` holds; is killed before the write after so many, and finds types only when it was told of them. */
  static async start(
    api: FakeApi,
    writes = Number.POSITIVE_INFINITY,
    toldOfTypes?: Promise<void>,
  ): Promise<WorkspaceServer> {
    const { informers } = api;
    const { client, updateWhole, content } = mortalWrites(api, writes);
    const modules = { informers, globalInformers: informers, client, updateWhole, clock, logger: silentLogger };
    const types = new PathAndNameIndex({
      informer: late(informers.informer<WorkspaceType>(workspaceTypes), toldOfTypes),
    });
    const exports = new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) });
    const options = {
      shardName: 'root',
      externalUrl: () => 'https://host',
      randomBytes: (size: number) => Buffer.alloc(size),
      random: () => 0,
    };
    const defaultBindings = new DefaultBindingWriter({
      ...modules,
      types,
      exports,
      schema: (cluster, name) =>
        informers.informer<APIResourceSchema>(apiResourceSchemas).get({ cluster, namespace: '', name }),
      createBinding: (cluster, binding) => client.create(apiBindings, cluster, binding),
    });
    const at = (cluster: LogicalClusterName) => ({ cluster, namespace: '', name: logicalClusterObjectName });
    const running = [
      ...workspaceControllers(options, {
        ...modules,
        content,
        types,
        exports,
        logicalClusters: {
          isLocal: () => true,
          known: (_shard, cluster) => informers.informer<LogicalCluster>(logicalClusters).get(at(cluster)),
          get: async (_shard, cluster) => informers.informer<LogicalCluster>(logicalClusters).get(at(cluster)),
          // With what admission adds.
          create: async (_shard, cluster, object) =>
            await client.create(logicalClusters, cluster, {
              ...object,
              metadata: { ...object.metadata, finalizers: [logicalClusterFinalizer] },
            }),
          delete: (_shard, cluster) => client.delete(logicalClusters, at(cluster)),
        },
        health: { isAlive: () => true, load: () => 0, onRelief: () => undefined },
        mayUse: () => true,
        pathOf: () => 'root',
        confirmShard: () => Promise.resolve({} as KubeObject),
      }),
      logicalClusterController(options, { ...modules, content, defaultBindings, tellOwner: () => Promise.resolve() }),
      namespaceController(modules),
      apiBindingDeletionController(modules),
    ];
    for (const one of running) await one.start();
    return new WorkspaceServer(running);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((one) => one.stop()));
  }
}

/** Objects are there at once, and told of when something has happened. */
function late<T extends KubeObject>(informer: Informer<T>, told: Promise<void> | undefined): Informer<T> {
  if (told === undefined) return informer;
  return {
    ...informer,
    addHandlers: (handlers) => {
      void told.then(() => informer.addHandlers(handlers));
      return () => {};
    },
  };
}

/** With what the registry does to namespaces, and with an end. */
function mortalWrites(
  api: FakeApi,
  writes: number,
): { readonly client: FakeApi['client']; readonly updateWhole: UpdateWhole; readonly content: ContentRemover } {
  let left = writes;
  const isDead = (): boolean => left-- <= 0;
  const client = new Proxy(api.client, {
    get(client, verb: keyof FakeApi['client']) {
      return (...args: unknown[]) => {
        const isWrite = verb !== 'get' && verb !== 'list';
        if (isWrite && isDead()) return Promise.reject(new Killed(`before a ${verb}`));
        const [, , object, options] = args as [unknown, unknown, KubeObject, { subresource?: string } | undefined];
        if (verb === 'update' && options?.subresource === 'finalize') object.metadata.finalizers = [];
        return (client[verb] as (...all: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  return {
    client,
    content: fakeContent(api, () => {
      if (isDead()) throw new Killed('before a removal');
    }),
    updateWhole: (...args) => (isDead() ? Promise.reject(new Killed('before an update')) : api.updateWhole(...args)),
  };
}
