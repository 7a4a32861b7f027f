import {
  mayBeJson,
  parseJson,
  parseJsonAsYamlIncrementally,
  parseJsonIncrementally,
  type ParsedYaml,
  parseYamlStrict,
  statusErrors,
  YamlSyntaxError,
} from '@multiplane/apimachinery';
import type { Clock, Runnable } from '@multiplane/component-base';
import { JobThread, JobThreadError } from '../../threads/job-thread.ts';
import { inTimeSlices } from '../../time-slices.ts';
import { inlineYamlReader, type YamlDocument, type YamlReader } from './yaml-reader.ts';
import type { YamlAnswer } from './yaml-thread.ts';

/** Texts up to this size are parsed inline: about 15 ms at one megabyte per second. */
const inlineBytes = 16 * 1024;
/** The largest body takes about 3 s; one that takes longer was crafted to. */
const deadlineMs = 15_000;
/** Bodies that may wait in memory. */
const maxQueued = 64;
const heapMiB = 512;

/**
 * Parses YAML bodies without blocking the event loop: long texts are converted to JSON in a worker thread. Short texts, and
 * JSON sent as YAML, which is the usual case, are parsed on the main thread.
 */
export class YamlWorker implements YamlReader, Runnable {
  readonly name = 'yaml worker';
  readonly #thread: JobThread<Buffer, YamlAnswer>;

  constructor(modules: { readonly clock: Clock }) {
    const options = {
      name: this.name,
      module: './yaml-thread',
      from: import.meta.url,
      deadlineMs,
      maxQueued,
      heapMiB,
    };
    this.#thread = new JobThread(options, modules);
  }

  start(): Promise<void> {
    return this.#thread.start();
  }

  stop(): Promise<void> {
    return this.#thread.stop();
  }

  /** Throws 429 if too many bodies wait, 503 if the server is stopping. */
  async read(body: Buffer): Promise<YamlDocument> {
    if (body.length <= inlineBytes) return inlineYamlReader.read(body);
    const text = body.toString('utf8');
    const json = mayBeJson(text) ? await inTimeSlices(parseJsonAsYamlIncrementally(text), body.length) : undefined;
    if (json !== undefined) return readOnce(json, () => parseYamlStrict(body));
    try {
      return await documentIn(await this.#thread.run(body));
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests('too many long YAML bodies wait: send JSON, or retry', 1);
        case 'stopped':
          throw statusErrors.serviceUnavailable('the server is shutting down');
        case 'slow':
          return faulty('yaml: document takes too long to read');
        case 'memory':
          return faulty('yaml: document takes too much memory to read');
      }
    }
  }
}

async function documentIn(answer: YamlAnswer): Promise<YamlDocument> {
  if ('fault' in answer) return faulty(answer.fault);
  const { json, duplicates } = answer;
  const { value } = await inTimeSlices(parseJsonIncrementally(json, false), json.length);
  return readOnce({ value, duplicates: [...duplicates] }, () => ({
    value: parseJson(json),
    duplicates: [...duplicates],
  }));
}

const faulty =
  (why: string): YamlDocument =>
  () => {
    throw new YamlSyntaxError(why);
  };

/** Returns the parsed value for the first call, and parses again for later calls. */
function readOnce(parsed: ParsedYaml, again: YamlDocument): YamlDocument {
  let first: ParsedYaml | undefined = parsed;
  return () => {
    const value = first ?? again();
    first = undefined;
    return value;
  };
}
