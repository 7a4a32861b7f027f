import {
  mayBeJson,
  parseJsonAsYamlIncrementally,
  JsonSyntaxError,
  bodyLimits,
  parseJsonIncrementally,
  type ParsedYaml,
  parseYamlIncrementally,
  statusErrors,
  YamlSyntaxError,
} from '@multiplane/apimachinery';
import type { Clock, Runnable } from '@multiplane/component-base';
import { JobThreads, JobThreadError } from '../../threads/job-threads.ts';
import { type Abortable, whileTimeLasts } from '../../time-slices.ts';
import { inlineYamlReader, type YamlDocument, type YamlReader, type YamlRequest } from './yaml-reader.ts';
import type { YamlAnswer } from './yaml-thread.ts';

/** Texts up to this size are parsed inline: the library reads 0.2 MB/s of short nodes in the worst case, so about 40 ms. */
const inlineBytes = 8 * 1024;
/** The largest body takes about 3 s; one that takes longer was crafted to. */
const deadlineMs = 30_000;
/** Bodies that may wait in memory, of one logical cluster and of all. */
const maxQueuedPerLane = 8;
const maxQueued = 64;
const maxQueuedBytes = 64 * 1024 * 1024;
const heapMiB = 512;

/**
 * Parses YAML bodies without blocking the event loop: long texts are converted to JSON in a worker thread. Short texts, and
 * JSON sent as YAML, which is the usual case, are parsed on the main thread.
 */
export class YamlWorker implements YamlReader, Runnable {
  readonly name = 'yaml worker';
  readonly #threads: JobThreads<Buffer, YamlAnswer>;

  constructor(modules: { readonly clock: Clock }) {
    const options = {
      name: this.name,
      module: './yaml-thread',
      from: import.meta.url,
      deadlineMs,
      maxQueuedPerLane,
      maxQueued,
      maxQueuedBytes,
      heapMiB,
    };
    this.#threads = new JobThreads(options, modules);
  }

  start(): Promise<void> {
    return this.#threads.start();
  }

  stop(): Promise<void> {
    return this.#threads.stop();
  }

  /** Throws 429 if too many bodies of the logical cluster wait, 503 if the server is stopping, the reason of an abort. */
  async read(body: Buffer, { cluster: lane, request }: Partial<YamlRequest> = {}): Promise<YamlDocument> {
    if (body.length <= inlineBytes && !mayHaveAliases(body)) return inlineYamlReader.read(body);
    const text = body.toString('utf8');
    let json: ParsedYaml | undefined;
    try {
      if (mayBeJson(text)) json = await whileTimeLasts(parseJsonAsYamlIncrementally(text), request);
    } catch (error) {
      if (error instanceof YamlSyntaxError) return faulty(error.message);
      throw error;
    }
    if (json !== undefined) return readOnce(json, () => parseYamlIncrementally(body));
    try {
      const answer = await this.#threads.run(body, { lane: lane ?? '', bytes: body.length, request });
      return await documentIn(answer, request);
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests(
            'too many long YAML bodies of this workspace are queued: send JSON, or retry',
            1,
          );
        case 'stopped':
          throw statusErrors.serviceUnavailable('the server is shutting down', 1);
        case 'slow':
          return faulty('yaml: document takes too long to read');
        case 'memory':
          return faulty('yaml: document takes too much memory to read');
      }
    }
  }
}

async function documentIn(answer: YamlAnswer, request: Abortable | undefined): Promise<YamlDocument> {
  if ('fault' in answer) return faulty(answer.fault);
  const { json, duplicates } = answer;
  const parse = function* (): Generator<void, ParsedYaml> {
    const { value } = yield* parseJsonIncrementally(json, false, { limits: bodyLimits });
    return { value, duplicates: [...duplicates] };
  };
  try {
    return readOnce(await whileTimeLasts(parse(), request), parse);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return faulty(`yaml: ${error.message}`);
    throw error;
  }
}

/** Aliases make a hundred thousand nodes of a short text. JSON may have both characters, and is parsed on the main thread. */
const mayHaveAliases = (body: Buffer): boolean => body.includes('&') && body.includes('*');

const faulty = (why: string): YamlDocument =>
  // eslint-disable-next-line require-yield -- throws at the first step
  function* () {
    throw new YamlSyntaxError(why);
  };

/** Returns the parsed value for the first call, and parses again for later calls. */
function readOnce(parsed: ParsedYaml, again: YamlDocument): YamlDocument {
  let first: ParsedYaml | undefined = parsed;
  return function* () {
    const value = first;
    first = undefined;
    return value ?? (yield* again());
  };
}
