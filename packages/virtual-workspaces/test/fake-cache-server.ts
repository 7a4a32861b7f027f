import { PassThrough } from 'node:stream';
import type { JsonObject } from '@multiplane/apimachinery';
import type { RestRequest, RestTransport } from '@multiplane/client';

/** FOR TESTS: a cache server: pages of a list, then streams that the test writes to. */
export class FakeCacheServer {
  readonly requests: string[] = [];
  readonly streams: PassThrough[] = [];
  pages: JsonObject[] = [];

  readonly transport = {
    json: async ({ path }: RestRequest) => {
      this.requests.push(path);
      return path.includes('continue=') ? this.pages[1] : this.pages[0];
    },
    open: async ({ path, signal }: RestRequest) => {
      this.requests.push(path);
      const stream = new PassThrough();
      signal?.addEventListener('abort', () => stream.destroy());
      this.streams.push(stream);
      return Object.assign(stream, { statusCode: 200 });
    },
  } as unknown as RestTransport;

  send(event: JsonObject): void {
    this.streams.at(-1)?.write(`${JSON.stringify(event)}\n`);
  }
}
