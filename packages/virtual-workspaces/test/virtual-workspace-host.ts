import type { BufferedRequest } from '@multiplane/virtual-framework';
import type { FakeShard, OpenStream } from '../test-support/fake-shard.ts';

/** What was answered to a request at a view. */
export interface ViewAnswer {
  readonly status: number;
  readonly text: string;
}

/** The virtual workspaces of a shard, wherever they run. */
export interface ViewHost extends AsyncDisposable {
  /** What they are asked about, and who asks. */
  readonly shard: FakeShard;
  ask(url: string, request?: Partial<BufferedRequest>): Promise<ViewAnswer>;
  /** Opens a watch. */
  open(url: string): OpenStream;
}

/** Views inside the shard's process. */
export function embeddedViews(shard: FakeShard): Promise<ViewHost> {
  return Promise.resolve({
    shard,
    ask: async (url, request) => {
      const { status, body } = await shard.ask(url, request);
      return { status, text: body.toString() };
    },
    open: (url) => shard.open(url),
    [Symbol.asyncDispose]: async () => shard.close(),
  });
}
