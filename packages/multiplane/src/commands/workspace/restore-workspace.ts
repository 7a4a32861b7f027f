import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { isStatusError, mapConcurrently, type KubeObject } from '@multiplane/apimachinery';
import { OptionError } from '@multiplane/component-base';
import { SnapshotDecoder, SnapshotEncoder, type SnapshotHeader, type StoredValue } from '@multiplane/storage';
import { snapshotBytes } from '../snapshot-file.ts';
import { newClusterName, ObjectRewriter, type Relocation } from './rewrite-object.ts';
import { find, findLogicalCluster, type ConnectedShard } from './shard-connections.ts';
import {
  analyse,
  locationOf,
  logicalClusterPrefix,
  type WorkspaceContent,
  workspacePrefix,
} from './workspace-content.ts';

export interface RestoreWorkspaceOptions {
  readonly file: string;
  readonly header: SnapshotHeader;
  /** Path to restore to. */
  readonly to: string;
  /** Shard that gets the logical clusters; default: that of the parent. */
  readonly targetShard: string | undefined;
  readonly onProgress: (objects: number) => void;
  readonly warn: (text: string) => void;
}

export interface RestoredWorkspace {
  readonly shard: string;
  readonly clusters: number;
  readonly objects: number;
  /** An earlier attempt had begun. */
  readonly isContinued: boolean;
}

const restoreAnnotation = 'multiplane.io/restore';
const restoreInitializer = 'system:restore';
/** Bytes of objects per request; a shard accepts 4 MiB. */
const partBytes = 1 << 20;
const readyTimeoutMs = 120_000;

type LogicalCluster = KubeObject & {
  spec?: { owner?: { cluster?: string; name?: string } };
  status?: { phase?: string; initializers?: string[] };
};
type Export = KubeObject & { status?: { identityHash?: string } };
type Workspace = KubeObject & { spec?: { cluster?: string }; status?: { phase?: string } };

interface Target {
  readonly id: string;
  readonly parent: { readonly shard: ConnectedShard; readonly cluster: string };
  readonly shard: ConnectedShard;
  readonly name: string;
}

/**
 * Restores a workspace and its subtree into a running control plane (docs/adr/0119-snapshots-of-a-workspace.md):
 *
 *   1. check     parent, name, shard, names of logical clusters, exports that the content needs; nothing is written before
 *   2. reserve   the Workspace in its parent, then the LogicalClusters, which stay Initializing
 *   3. content   in steps, each object after its owners
 *   4. finish    the logical clusters become Ready
 *
 * IDs, names and uids follow from the snapshot and the target, so the same command continues an attempt that ended.
 */
export async function restoreWorkspace(
  options: RestoreWorkspaceOptions,
  shards: readonly ConnectedShard[],
): Promise<RestoredWorkspace> {
  const { header, file, to } = options;
  const { path: from, cluster: top } = header.workspace as NonNullable<SnapshotHeader['workspace']>;
  const content = await analyse(file, top);
  for (const text of content.leftOut) options.warn(`left out: ${text}`);
  const target = await findTarget(options, shards);
  const isContinued = await checkName(target, to);
  const renames = to !== from;
  const identities = await identitiesOf(content, { from, shards, warn: options.warn });
  const relocation: Relocation = {
    id: target.id,
    from,
    to,
    shard: target.shard.name,
    clusters: new Map(renames ? content.clusters.map((name) => [name, newClusterName(target.id, name)]) : []),
    uids: renames ? content.uids : new Set(),
    identities,
  };
  if (!isContinued)
    await checkClusters(
      content.clusters.map((name) => relocation.clusters.get(name) ?? name),
      shards,
    );
  const restore = new Restore(options, { content, target, relocation, top });
  await restore.run();
  await untilReady(target, to);
  return { shard: target.shard.name, clusters: content.clusters.length, objects: content.objects, isContinued };
}

async function findTarget(
  { header, to, targetShard }: RestoreWorkspaceOptions,
  shards: readonly ConnectedShard[],
): Promise<Target> {
  const colon = to.lastIndexOf(':');
  const parent = await findLogicalCluster(shards, to.slice(0, colon));
  const phase = parent?.object.status?.phase;
  if (parent === undefined) throw new OptionError(`the parent ${to.slice(0, colon)} does not exist`);
  if (phase !== 'Ready')
    throw new OptionError(`the parent ${to.slice(0, colon)} is ${phase ?? 'Scheduling'}, not Ready`);
  const shard = targetShard === undefined ? parent.shard : shards.find(({ name }) => name === targetShard);
  if (shard === undefined)
    throw new OptionError(
      `--target-shard: there is no shard ${targetShard}; there are ${shards.map(({ name }) => name).join(', ')}`,
    );
  const { cluster } = parent;
  const { createdAt, revision, workspace } = header;
  const id = createHash('sha256')
    .update(JSON.stringify([createdAt, revision, workspace, cluster, to, shard.name]))
    .digest('hex');
  return { id: id.slice(0, 32), parent: { shard: parent.shard, cluster }, shard, name: to.slice(colon + 1) };
}

const workspacePath = ({ parent, name }: Target): string =>
  `/clusters/${parent.cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`;

/** True if an earlier attempt of this restore has reserved the name. Throws if it is taken. */
async function checkName(target: Target, to: string): Promise<boolean> {
  const existing = await find<Workspace>(target.parent.shard.transport, workspacePath(target));
  const by = existing?.metadata.annotations?.[restoreAnnotation];
  if (existing === undefined) return false;
  if (by === target.id && existing.metadata.deletionTimestamp === undefined) return true;
  throw new OptionError(
    by === undefined
      ? `the workspace ${to} exists: delete it first, or restore under another path with --as`
      : `the workspace ${to} belongs to another restore that has not finished: run that one again, or delete the workspace`,
  );
}

async function checkClusters(names: readonly string[], shards: readonly ConnectedShard[]): Promise<void> {
  await mapConcurrently(names, 8, async (name) => {
    const existing = await findLogicalCluster(shards, name);
    if (existing !== undefined)
      throw new OptionError(
        `the logical cluster ${name} exists on the shard ${existing.shard.name}, so the original of this snapshot is not deleted completely: restore under another path with --as`,
      );
  });
}

/** Identities of exports outside of the subtree, as they are here. Throws if objects could not be reached. */
async function identitiesOf(
  { exports, identities }: WorkspaceContent,
  { from, shards, warn }: { from: string; shards: readonly ConnectedShard[]; warn: (text: string) => void },
): Promise<Map<string, string>> {
  const changed = new Map<string, string>();
  for (const { path, name, resources } of exports) {
    if (path === from || path.startsWith(`${from}:`)) continue;
    const place = await findLogicalCluster(shards, path);
    const found =
      place === undefined
        ? undefined
        : await find<Export>(
            place.shard.transport,
            `/clusters/${place.cluster}/apis/apis.kcp.io/v1alpha2/apiexports/${name}`,
          );
    const identity = found?.status?.identityHash ?? '';
    for (const [resource, { identity: before }] of resources) {
      if (identity !== '' && before !== '') {
        if (before !== identity) changed.set(before, identity);
      } else if (identity === '' && identities.has(before)) {
        throw new OptionError(
          `the workspace has objects of ${resource}, which the APIExport ${name} of ${path} offers; it does not exist here: create it first`,
        );
      }
    }
    if (identity === '') warn(`the APIExport ${name} of ${path}, which the workspace binds, does not exist here`);
  }
  return changed;
}

/** The Workspace follows its LogicalCluster within a moment. */
async function untilReady(target: Target, to: string): Promise<void> {
  for (const deadline = Date.now() + readyTimeoutMs; Date.now() < deadline; await wait(100)) {
    const workspace = await find<Workspace>(target.parent.shard.transport, workspacePath(target));
    if (workspace?.status?.phase === 'Ready') return;
  }
  throw new Error(`${to} is restored, but not Ready; see its conditions`);
}

/** The writing steps of one restore. */
class Restore {
  readonly #options: RestoreWorkspaceOptions;
  readonly #content: WorkspaceContent;
  readonly #target: Target;
  readonly #rewriter: ObjectRewriter;
  readonly #top: string;
  readonly #clusters: ReadonlySet<string>;
  #sent = 0;

  constructor(
    options: RestoreWorkspaceOptions,
    {
      content,
      target,
      relocation,
      top,
    }: { content: WorkspaceContent; target: Target; relocation: Relocation; top: string },
  ) {
    this.#options = options;
    this.#content = content;
    this.#target = target;
    this.#rewriter = new ObjectRewriter(relocation);
    this.#top = top;
    this.#clusters = new Set(content.clusters);
  }

  async run(): Promise<void> {
    const { parent, shard } = this.#target;
    const workspace = this.#workspace();
    await this.#send(parent.shard, [workspace]);
    await this.#sendAll((record) => this.#logicalCluster(record));
    for (let step = 0; step < this.#content.depth; step++) await this.#sendAll((record) => this.#object(record, step));
    const keys = this.#content.clusters.map((name) => `${logicalClusterPrefix}${this.#rewriter.cluster(name)}/cluster`);
    for (let i = 0; i < keys.length; i += 5000) await this.#finish(shard, keys.slice(i, i + 5000));
    await this.#finish(parent.shard, [workspace.key]);
  }

  #workspace(): StoredValue {
    const { id, parent, name } = this.#target;
    const { value, revision } = this.#content.workspace;
    const rewritten = this.#rewriter.object(value, (object: Workspace) => {
      const { metadata, status } = object;
      metadata.name = name;
      metadata.annotations = { ...metadata.annotations, 'kcp.io/cluster': parent.cluster, [restoreAnnotation]: id };
      metadata.labels = { ...metadata.labels, 'tenancy.kcp.io/phase': 'Initializing' };
      delete metadata.deletionTimestamp;
      object.status = { ...status, phase: 'Initializing' };
    });
    return { key: `${workspacePrefix}${parent.cluster}/${name}`, value: rewritten, revision };
  }

  #logicalCluster(record: StoredValue): StoredValue | undefined {
    const location = locationOf(record.key);
    if (location.prefix !== logicalClusterPrefix || !this.#clusters.has(location.cluster)) return undefined;
    const { id, parent, name } = this.#target;
    const value = this.#rewriter.object(record.value, (object: LogicalCluster) => {
      const { metadata, spec, status } = object;
      metadata.annotations = { ...metadata.annotations, [restoreAnnotation]: id };
      if (location.cluster === this.#top && spec?.owner !== undefined)
        Object.assign(spec.owner, { cluster: parent.cluster, name });
      const initializers = [...(status?.initializers ?? []), restoreInitializer];
      object.status = { ...status, phase: 'Initializing', initializers };
    });
    return { key: this.#rewriter.key(location), value, revision: record.revision };
  }

  #object(record: StoredValue, step: number): StoredValue | undefined {
    const { dropped, steps, workspace } = this.#content;
    const location = locationOf(record.key);
    if (!this.#clusters.has(location.cluster) || location.prefix === logicalClusterPrefix) return undefined;
    if (dropped.has(record.key) || record.key === workspace.key) return undefined;
    const uid = /"uid":"([^"]+)"/.exec(record.value.toString('latin1'))?.[1];
    if ((uid === undefined ? 0 : (steps.get(uid) ?? 0)) !== step) return undefined;
    return { key: this.#rewriter.key(location), value: this.#rewriter.object(record.value), revision: record.revision };
  }

  /** Reads the snapshot once and sends what `select` makes of its records. */
  async #sendAll(select: (record: StoredValue) => StoredValue | undefined): Promise<void> {
    const decoder = new SnapshotDecoder(snapshotBytes(this.#options.file));
    await decoder.header();
    let part: StoredValue[] = [];
    let bytes = 0;
    for await (const record of decoder.records()) {
      const selected = select(record);
      if (selected === undefined) continue;
      part.push(selected);
      bytes += selected.value.length;
      if (bytes < partBytes) continue;
      await this.#send(this.#target.shard, part);
      part = [];
      bytes = 0;
    }
    if (part.length > 0) await this.#send(this.#target.shard, part);
  }

  async #send({ name, transport }: ConnectedShard, records: readonly StoredValue[]): Promise<void> {
    const { header } = this.#options;
    const encoder = new SnapshotEncoder(header);
    const chunks: Buffer[] = [];
    for (const record of records) {
      const chunk = encoder.add(record);
      if (chunk !== undefined) chunks.push(chunk);
    }
    const body = Buffer.concat([...chunks, encoder.end()]);
    const path = `/snapshot?restore=${this.#target.id}`;
    try {
      await transport.json({ method: 'POST', path, body, contentType: 'application/octet-stream' });
    } catch (error) {
      if (isStatusError(error)) throw error;
      throw new Error(`the shard ${name} does not answer: run the same command again to continue`, { cause: error });
    }
    this.#sent += records.length;
    this.#options.onProgress(this.#sent);
  }

  async #finish({ transport }: ConnectedShard, keys: readonly string[]): Promise<void> {
    const path = `/snapshot?restore=${this.#target.id}&finish=1`;
    await transport.json({ method: 'POST', path, body: JSON.stringify(keys) });
  }
}
