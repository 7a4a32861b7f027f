import {
  clusterAnnotation,
  deepEqual,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiExports, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import type { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import type { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards } from '../sharding/kinds.ts';

/** An object about which each shard reports in `status.shards`. */
type Reported = KubeObject & { readonly status?: { readonly shards?: readonly { readonly name: string }[] } };

/** Queues the objects of an APIExport when its identity or its resources change, and those with a report of a shard that is removed. */
export function enqueueByExportAndShard(
  objects: { list(): readonly DeepReadonly<Reported>[] },
  byExport: Pick<ExportReferenceIndex<KubeObject>, 'of'>,
  queue: Controller['queue'],
  globalInformers: InformerSource,
): void {
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of byExport.of(object, reference)) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: enqueueOfExport,
    updated: (object, old, reference) => {
      const { spec, status } = object;
      if (status?.identityHash !== old.status?.identityHash || !sameResources(spec, old.spec))
        enqueueOfExport(object, reference);
    },
    deleted: enqueueOfExport,
  });
  globalInformers.informer(shards).addHandlers({
    deleted: (_shard, { name }) => {
      for (const object of objects.list()) {
        const { metadata, status } = object;
        if (status?.shards?.some((report) => report.name === name) !== true) continue;
        const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
        queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
      }
    },
  });
}

const sameResources = (a: DeepReadonly<APIExport>['spec'], b: DeepReadonly<APIExport>['spec']): boolean =>
  deepEqual(a?.resources ?? [], b?.resources ?? []);
