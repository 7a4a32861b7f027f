import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import { PathAndNameIndex, type Informer } from '@multiplane/client';
import { silentLogger, systemClock, type Clock, type Runnable } from '@multiplane/component-base';
import { apiBindingDeletionController } from '../src/apis/api-binding-deletion-controller.ts';
import { namespaceController } from '../src/core/namespace-controller.ts';
import { DefaultBindingWriter } from '../src/tenancy/default-binding-writer.ts';
import {
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  workspaceTypes,
  type LogicalCluster,
  type WorkspaceType,
} from '../src/tenancy/kinds.ts';
import { logicalClusterController } from '../src/tenancy/logical-cluster-controller.ts';
import { workspaceControllers } from '../src/tenancy/workspace-controller.ts';
import type { UpdateWithStatus } from '../src/runtime/object-writes.ts';
import type { ContentDeleter } from '../src/core/content-deleter.ts';
import type { FakeApi } from './fake-api.ts';
import { fakeContentDeleter } from './fake-content-deleter.ts';

/** A write of a process that has crashed. */
class CrashedError extends Error {
  override readonly name = 'CrashedError';
}

/** `now` is the deletion timestamp that FakeApi sets, so that deletions never look slow. */
const clock: Clock = {
  now: () => Date.parse('2026-01-01T00:00:00Z'),
  monotonic: () => systemClock.monotonic(),
  after: (milliseconds, callback) => systemClock.after(milliseconds, callback),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds, signal),
};

/** A process with the controllers of workspaces, logical clusters, namespaces and deleted bindings. */
export class WorkspaceServer {
  readonly #running: readonly Runnable[];
  private constructor(running: readonly Runnable[]) {
    this.#running = running;
  }

  /** Crashes after `writes` writes. The index of workspace types is synced when `typesSynced` resolves. */
  static async start(
    api: FakeApi,
    writes = Number.POSITIVE_INFINITY,
    typesSynced?: Promise<void>,
  ): Promise<WorkspaceServer> {
    const { informers } = api;
    const { client, updateWithStatus, content } = limitedWrites(api, writes);
    const modules = { informers, globalInformers: informers, client, updateWithStatus, clock, logger: silentLogger };
    const types = new PathAndNameIndex({
      informer: delayed(informers.informer<WorkspaceType>(workspaceTypes), typesSynced),
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
    const referenceIn = (cluster: LogicalClusterName) => ({ cluster, namespace: '', name: logicalClusterObjectName });
    const running = [
      ...workspaceControllers(options, {
        ...modules,
        content,
        types,
        exports,
        logicalClusters: {
          isLocal: () => true,
          cached: (_shard, cluster) => informers.informer<LogicalCluster>(logicalClusters).get(referenceIn(cluster)),
          get: async (_shard, cluster) => informers.informer<LogicalCluster>(logicalClusters).get(referenceIn(cluster)),
          // With the finalizer that admission adds.
          create: async (_shard, cluster, object) =>
            await client.create(logicalClusters, cluster, {
              ...object,
              metadata: { ...object.metadata, finalizers: [logicalClusterFinalizer] },
            }),
          delete: (_shard, cluster) => client.delete(logicalClusters, referenceIn(cluster)),
          annotate: () => Promise.resolve(),
        },
        health: { isAlive: () => true, load: () => 0, onAvailable: () => undefined },
        mayUse: () => true,
        limitsOfParent: () => undefined,
        pathOf: () => 'root',
        confirmShard: () => Promise.resolve({} as KubeObject),
      }),
      logicalClusterController(options, { ...modules, content, defaultBindings, notifyOwner: () => Promise.resolve() }),
      namespaceController(modules),
      apiBindingDeletionController({ ...modules, exports }),
    ];
    for (const controller of running) await controller.start();
    return new WorkspaceServer(running);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((controller) => controller.stop()));
  }
}

/** An informer that delivers its events after `ready`; its lister has all objects. */
function delayed<T extends KubeObject>(informer: Informer<T>, ready: Promise<void> | undefined): Informer<T> {
  if (ready === undefined) return informer;
  return {
    ...informer,
    addHandlers: (handlers) => {
      void ready.then(() => informer.addHandlers(handlers));
      return () => {};
    },
  };
}

/** Writes that fail after a number of them, with the registry's handling of the namespace finalizer. */
function limitedWrites(
  api: FakeApi,
  writes: number,
): {
  readonly client: FakeApi['client'];
  readonly updateWithStatus: UpdateWithStatus;
  readonly content: ContentDeleter;
} {
  let left = writes;
  const hasCrashed = (): boolean => left-- <= 0;
  const client = new Proxy(api.client, {
    get(client, verb: keyof FakeApi['client']) {
      return (...args: unknown[]) => {
        const isWrite = verb !== 'get' && verb !== 'list';
        if (isWrite && hasCrashed()) return Promise.reject(new CrashedError(`before a ${verb}`));
        const [, , object, options] = args as [unknown, unknown, KubeObject, { subresource?: string } | undefined];
        if (verb === 'update' && options?.subresource === 'finalize') object.metadata.finalizers = [];
        return (client[verb] as (...all: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  return {
    client,
    content: fakeContentDeleter(api, () => {
      if (hasCrashed()) throw new CrashedError('before a removal');
    }),
    updateWithStatus: (...args) =>
      hasCrashed() ? Promise.reject(new CrashedError('before an update')) : api.updateWithStatus(...args),
  };
}
