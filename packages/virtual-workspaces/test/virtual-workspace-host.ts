import type { BufferedRequest } from '@multiplane/generic-server';
import type { FakeShard, OpenStream } from './fake-shard.ts';

/** The response of a virtual workspace. */
export interface HostResponse {
  readonly status: number;
  readonly text: string;
}

/** Virtual workspaces of a fake shard, embedded or as a server. */
export interface VirtualWorkspaceHost extends AsyncDisposable {
  /** The shard behind them, and the caller of requests. */
  readonly shard: FakeShard;
  send(url: string, request?: Partial<BufferedRequest>): Promise<HostResponse>;
  /** Opens a watch. */
  open(url: string): OpenStream;
}

/** Virtual workspaces within the shard's process. */
export function embeddedHost(shard: FakeShard): Promise<VirtualWorkspaceHost> {
  return Promise.resolve({
    shard,
    send: async (url, request) => {
      const { status, body } = await shard.send(url, request);
      return { status, text: body.toString() };
    },
    open: (url) => shard.open(url),
    [Symbol.asyncDispose]: async () => shard.close(),
  });
}
