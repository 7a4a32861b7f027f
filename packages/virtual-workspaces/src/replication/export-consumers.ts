import {
  clusterAnnotation,
  compareBytewise,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { APIBinding } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';
import { exportKeyOfBinding, type ExportKey } from '../apiexport/export-bindings.ts';

type Listener = (consumer: LogicalClusterName, isPresent: boolean) => void;

interface Followed {
  readonly listeners: Set<Listener>;
  /** Absent until all consumers are asked for: requests for one logical cluster do not need them. */
  clusters: Set<LogicalClusterName> | undefined;
  /** {@link clusters} in bytewise order; absent after a change. */
  sorted: readonly LogicalClusterName[] | undefined;
}

/**
 * The logical clusters of this shard that have bound an export, for exports that are followed. One informer handler serves
 * all of them: a change of a binding concerns the readers of its export alone, and the bindings of the shard are looked
 * through once per export, when its consumers are first listed.
 */
export class ExportConsumers {
  readonly #informer: Informer<APIBinding>;
  readonly #followed = new Map<string, Followed>();

  constructor(modules: { readonly informer: Informer<APIBinding> }) {
    this.#informer = modules.informer;
    this.#informer.addHandlers({
      added: (binding, { cluster }, isInInitialList) => {
        if (!isInInitialList) this.#changed(boundTo(binding), cluster, true);
      },
      updated: (binding, old, reference) => this.#updated(boundTo(binding), boundTo(old), reference),
      deleted: (old, { cluster }) => this.#changed(boundTo(old), cluster, false),
    });
  }

  /** In bytewise order. */
  list(key: ExportKey): readonly LogicalClusterName[] {
    const text = textOf(key);
    const followed = this.#followed.get(text);
    if (followed === undefined) return [...this.#find(text)].sort(compareBytewise);
    followed.clusters ??= this.#find(text);
    return (followed.sorted ??= [...followed.clusters].sort(compareBytewise));
  }

  /** Calls `listener` when a logical cluster binds the export, and when it no longer does. Returns the end of it. */
  follow(key: ExportKey, listener: Listener): () => void {
    const text = textOf(key);
    const followed = this.#followed.get(text) ?? { listeners: new Set(), clusters: undefined, sorted: undefined };
    this.#followed.set(text, followed);
    followed.listeners.add(listener);
    return () => {
      followed.listeners.delete(listener);
      if (followed.listeners.size === 0 && this.#followed.get(text) === followed) this.#followed.delete(text);
    };
  }

  #find(text: string): Set<LogicalClusterName> {
    const found = new Set<LogicalClusterName>();
    for (const binding of this.#informer.list())
      if (boundTo(binding) === text) found.add(binding.metadata.annotations?.[clusterAnnotation] as LogicalClusterName);
    return found;
  }

  #updated(now: string | undefined, before: string | undefined, { cluster }: ObjectReference): void {
    if (now === before) return;
    this.#changed(before, cluster, false);
    this.#changed(now, cluster, true);
  }

  #changed(text: string | undefined, cluster: LogicalClusterName, isPresent: boolean): void {
    const followed = text === undefined ? undefined : this.#followed.get(text);
    if (followed === undefined) return;
    followed.sorted = undefined;
    if (isPresent) followed.clusters?.add(cluster);
    else followed.clusters?.delete(cluster);
    for (const listener of followed.listeners) listener(cluster, isPresent);
  }
}

/** The export to which a binding gives its logical cluster access, as a key; undefined until it is bound. */
function boundTo(binding: DeepReadonly<APIBinding>): string | undefined {
  if (binding.status?.phase !== 'Bound') return undefined;
  const key = exportKeyOfBinding(binding);
  return key === undefined ? undefined : textOf(key);
}

const textOf = ({ cluster, name }: ExportKey): string => `${cluster}/${name}`;
