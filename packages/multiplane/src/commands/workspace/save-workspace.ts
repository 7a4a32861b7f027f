import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { OptionError } from '@multiplane/component-base';
import { statusErrorOfResponse } from '@multiplane/client';
import { SnapshotDecoder, SnapshotEncoder, type SnapshotHeader, type WorkspaceScope } from '@multiplane/storage';
import type { ConnectedShard } from './shard-connections.ts';

interface Part {
  readonly decoder: SnapshotDecoder;
  readonly header: SnapshotHeader;
}

/**
 * The chunks of one snapshot of a workspace from the parts of all shards. All shards are asked before the first part is read,
 * so that their states are as close as possible. Throws when a shard does not answer, or a part is incomplete.
 */
export async function* saveFromShards(
  path: string,
  shards: readonly ConnectedShard[],
): AsyncGenerator<Buffer, void, undefined> {
  const parts = await Promise.all(shards.map((shard) => partOf(path, shard)));
  const workspaces = parts.map(({ header }) => header.workspace as WorkspaceScope);
  const owner = parts.find(({ header }) => (header.workspace?.cluster ?? '') !== '');
  if (owner === undefined) throw new OptionError(`--workspace: there is no workspace ${path}`);
  const cluster = workspaces.find((each) => each.cluster !== '')?.cluster ?? '';
  const revisions = parts.map(({ header }) => ({ shard: header.shard ?? '', revision: header.revision }));
  const encoder = new SnapshotEncoder({ ...owner.header, workspace: { path, cluster, parts: revisions } });
  for (const { decoder } of parts) {
    for await (const record of decoder.records()) {
      const chunk = encoder.add(record);
      if (chunk !== undefined) yield chunk;
    }
  }
  yield encoder.end();
}

async function partOf(path: string, { name, transport }: ConnectedShard): Promise<Part> {
  let response: IncomingMessage;
  try {
    const query = new URLSearchParams({ workspace: path }).toString();
    response = await transport.open({ method: 'GET', path: `/snapshot?${query}`, longRunning: true });
  } catch (error) {
    throw new Error(`failed to reach the shard ${name}; all shards must run`, { cause: error });
  }
  if (response.statusCode !== 200) {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(response, 'end');
    throw statusErrorOfResponse(response.statusCode ?? 0, Buffer.concat(chunks).toString());
  }
  const decoder = new SnapshotDecoder(response as AsyncIterable<Buffer>);
  return { decoder, header: await decoder.header() };
}
