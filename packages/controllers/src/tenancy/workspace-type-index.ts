import {
  isLogicalClusterName,
  pathAnnotation,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, InformerSource, ObjectReference } from '@multiplane/client';
import { workspaceTypes, type WorkspaceType } from './kinds.ts';
import { WorkspaceTypeError, type WorkspaceTypes } from './workspace-type-closure.ts';

/**
 * WorkspaceTypes of all shards by path. Types are few, so the index holds one entry for each; a path may be that of two
 * logical clusters for a moment (one is being deleted while its name is used again), and then nobody can say which type
 * is meant.
 */
export class WorkspaceTypeIndex implements WorkspaceTypes {
  readonly informer: Informer<WorkspaceType>;
  readonly #clusters = new Map<string, Set<LogicalClusterName>>();
  constructor(modules: { readonly informers: InformerSource }) {
    this.informer = modules.informers.informer<WorkspaceType>(workspaceTypes);
    this.informer.addHandlers({
      added: (type, reference) => this.#add(type, reference),
      updated: (type, old, reference) => {
        this.#remove(old, reference);
        this.#add(type, reference);
      },
      deleted: (old, reference) => this.#remove(old, reference),
    });
  }

  /** Throws WorkspaceTypeError when two types answer to the path and name. */
  find(path: string, name: string): DeepReadonly<WorkspaceType> | undefined {
    const clusters = new Set(this.#clusters.get(`${path}:${name}`));
    if (isLogicalClusterName(path)) clusters.add(path);
    const found = [...clusters].flatMap((cluster) => this.informer.get({ cluster, namespace: '', name }) ?? []);
    if (found.length > 1) throw new WorkspaceTypeError(`workspace type ${path}:${name} is ambiguous`);
    return found[0];
  }

  #add(type: DeepReadonly<WorkspaceType>, { cluster, name }: ObjectReference): void {
    const path = type.metadata.annotations?.[pathAnnotation];
    if (path === undefined || path === cluster) return;
    const key = `${path}:${name}`;
    let clusters = this.#clusters.get(key);
    if (clusters === undefined) {
      clusters = new Set();
      this.#clusters.set(key, clusters);
    }
    clusters.add(cluster);
  }

  #remove(type: DeepReadonly<WorkspaceType>, { cluster, name }: ObjectReference): void {
    const key = `${type.metadata.annotations?.[pathAnnotation] ?? ''}:${name}`;
    const clusters = this.#clusters.get(key);
    clusters?.delete(cluster);
    if (clusters?.size === 0) this.#clusters.delete(key);
  }
}
